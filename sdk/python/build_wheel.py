"""Makes this folder's packages: the backend that pip calls (PEP 517), with the standard library alone.

The same files make the same bytes.
"""

from __future__ import annotations

import base64
import glob
import gzip
import hashlib
import io
import os
import tarfile
import zipfile
from typing import Any, Container, Dict, List, Optional

_HERE = os.path.dirname(os.path.abspath(__file__))
NAME, VERSION = "trainyard", "0.1"
MODULE = sorted(os.path.relpath(path, _HERE) for pattern in ("yard/**/*.py", "hydra_plugins/*.py", "yard/py.typed")
                 for path in glob.glob(os.path.join(_HERE, pattern), recursive=True))
_FOLDER = "%s-%s" % (NAME, VERSION)
_METADATA = """Metadata-Version: 2.1
Name: %s
Version: %s
Summary: %s
License: Apache-2.0
Requires-Python: >=3.8
"""
_SUMMARY = "Report from a Python training program to the yard"
_WHEEL = """Wheel-Version: 1.0
Generator: build_wheel
Root-Is-Purelib: %s
Tag: %s
"""
_NO_TIME = (1980, 1, 1, 0, 0, 0)  # The earliest that a zip file has.

Settings = Optional[Dict[str, Any]]


def get_requires_for_build_wheel(config_settings: Settings = None) -> List[str]:
    return []


def build_wheel(wheel_directory: str, config_settings: Settings = None,
                metadata_directory: Optional[str] = None) -> str:
    """Writes the wheel into a folder and returns its name."""
    return write_wheel(wheel_directory, module_files(), "py3-none-any")


def module_files() -> Dict[str, bytes]:
    """The module's files by their name below site-packages."""
    return {name: _read(name) for name in MODULE}


def write_wheel(wheel_directory: str, files: Dict[str, bytes], tag: str, summary: str = _SUMMARY,
                programs: Container[str] = ()) -> str:
    """Writes a wheel of files, by their name in it, and returns its name. `programs` are those that can be executed."""
    files = dict(files)
    files[_FOLDER + ".dist-info/METADATA"] = (_METADATA % (NAME, VERSION, summary)).encode()
    purelib = str(tag.endswith("-any")).lower()
    files[_FOLDER + ".dist-info/WHEEL"] = (_WHEEL % (purelib, tag)).encode()
    record = _FOLDER + ".dist-info/RECORD"
    lines = ["%s,sha256=%s,%d\n" % (name, _hash(data), len(data)) for name, data in files.items()]
    files[record] = "".join(lines + [record + ",,\n"]).encode()
    wheel = "%s-%s.whl" % (_FOLDER, tag)
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w") as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, _NO_TIME)
            entry.external_attr = (0o100755 if name in programs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return wheel


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Writes the source archive into a folder and returns its name."""
    files = {name: _read(name) for name in MODULE + ["build_wheel.py", "pyproject.toml"]}
    files["PKG-INFO"] = (_METADATA % (NAME, VERSION, _SUMMARY)).encode()
    sdist = _FOLDER + ".tar.gz"
    with open(os.path.join(sdist_directory, sdist), "wb") as file, \
            gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(_FOLDER + "/" + name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return sdist


def _read(name: str) -> bytes:
    with open(os.path.join(_HERE, name), "rb") as file:
        return file.read()


def _hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
