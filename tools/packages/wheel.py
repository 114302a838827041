"""The wheel: the module, and beside the environment's Python what tools/install puts into its PREFIX.

The wheel's `data` is PREFIX, and pip copies it as it is: `bin/yard` is the program itself, no Python runs before it, and it finds the
services in `../libexec` as it does elsewhere. Auditwheel puts the libraries there too, finds out
which systems have what remains, and names the wheel after them.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../sdk/python"))
import build_wheel  # noqa: E402

FOLDER = "%s-%s" % (build_wheel.NAME, build_wheel.VERSION)
DATA = FOLDER + ".data/data/"
LIBRARIES = "libexec/trainyard.libs"
LICENSES = FOLDER + ".dist-info/licenses/"
SUMMARY = "Runs training programs, keeps what they report, and shows it"
_SECONDS = 600
# (The module is beside the Python that pip installs for; units name an absolute path, which pip knows only later.)
_PARTS = ("bin/yard", "libexec/*", "include/yard.h", "share/yard/bus/schema/*.bfbs",
          "share/yard/python/yard/import_runs.py", "share/bash-completion/completions/yard",
          "share/zsh/site-functions/_yard", "share/fish/vendor_completions.d/yard.fish", "share/man/man1/yard.1")
_FROM_PREFIX = ("bin/", "libexec/")
_ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
_SYSTEM = re.compile(r"/(ld-linux[^/]*|lib(c|m|gcc_s|stdc\+\+|pthread|dl|rt|resolv))\.so\.")


class PackageError(Exception):
    """A package cannot be made; the message says which part, and why."""


def build(prefix, directory):
    """Writes the wheel into the directory and returns its path."""
    files = build_wheel.module_files()
    programs = set()
    for path in _parts(prefix):
        name = os.path.relpath(path, prefix)
        is_program = name.startswith(_FROM_PREFIX)
        if is_program:
            programs.add(DATA + name)
        files[DATA + name] = _stripped(path, directory) if is_program else _read(path)
    files[LICENSES + "LICENSE"] = _read(os.path.join(_ROOT, "LICENSE"))
    for package, path in copyrights([os.path.join(prefix, name[len(DATA):]) for name in programs]).items():
        files[LICENSES + package] = _read(path)
    raw = os.path.join(directory, "raw")
    os.makedirs(raw)
    tag = "py3-none-linux_" + os.uname().machine
    made = build_wheel.write_wheel(raw, files, tag, SUMMARY, programs)
    return _repaired(os.path.join(raw, made), os.path.join(directory, "wheel"))


def copyrights(programs):
    """The Debian packages of the libraries that the programs use and the wheel takes along, with the file of their terms."""
    said = run(["ldd", *programs], codes=(0, 1))  # (1: one of them is static.)
    libraries = {os.path.realpath(path) for path in re.findall(r"=> (/\S+) \(0x", said) if not _SYSTEM.search(path)}
    # (dpkg knows a file by the place where its package has put it, and /lib is a link to /usr/lib.)
    places = [place for path in sorted(libraries) for place in (path, path.removeprefix("/usr"))]
    said = run(["dpkg-query", "--search", *places], codes=(0, 1))
    owners = {os.path.realpath(path): package for package, path in re.findall(r"^([^:,\s]+)\S*: (/.*)$", said, re.MULTILINE)}
    for library in sorted(libraries - set(owners)):
        raise PackageError("no Debian package has %s, so nobody knows its terms" % library)
    return {package: "/usr/share/doc/%s/copyright" % package for package in sorted(owners.values())}


def _parts(prefix):
    found = []
    for part in _PARTS:
        paths = sorted(path for path in glob.glob(os.path.join(prefix, part)) if not path.endswith(".debug"))
        if not paths:
            raise PackageError("%s has no %s; tools/install makes it" % (prefix, part))
        found += paths
    return found


def _stripped(path, directory):
    copy = os.path.join(directory, os.path.basename(path))
    shutil.copyfile(path, copy)
    run(["strip", "--strip-all", "--remove-section=.comment", copy])
    content = _read(copy)
    os.remove(copy)
    return content


def _repaired(raw, directory):
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "315532800"}
    environment.pop("LD_LIBRARY_PATH", None)  # The libraries are Debian's.
    os.makedirs(directory)
    run(["auditwheel", "repair", "--lib-sdir=" + (DATA + LIBRARIES)[len(build_wheel.NAME):],
         "--wheel-dir", directory, raw], environment=environment)
    made = glob.glob(os.path.join(directory, "*.whl"))
    if len(made) != 1:
        raise PackageError("auditwheel made no wheel of %s" % raw)
    _check_terms(made[0])
    return made[0]


def _check_terms(path):
    """Each package that auditwheel has taken a library from has its terms in the wheel."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        bill = json.loads(archive.read(FOLDER + ".dist-info/sboms/auditwheel.cdx.json"))
    for package in sorted({part["name"] for part in bill["components"]} - {build_wheel.NAME}):
        if LICENSES + package not in names:
            raise PackageError("the terms of %s, of which the wheel has a library, are not in it" % package)


def run(words, environment=None, codes=(0,), directory=None):
    """Returns the output of a command. PackageError: another exit code than `codes`, or no end in time."""
    try:
        answer = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                errors="replace", env=environment, cwd=directory, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as late:
        raise PackageError("%s has not ended after %d s" % (words[0], _SECONDS)) from late
    if answer.returncode not in codes:
        raise PackageError("%s ended with %d: %s" % (" ".join(words[:2]), answer.returncode, answer.stdout.strip()[-2000:]))
    return answer.stdout


def _read(path):
    with open(path, "rb") as file:
        return file.read()
