"""Reads from programs and libraries which symbols and libraries the system must have."""

import os
import re
import subprocess

# The newest versions of symbols that Ubuntu 22.04 has, the oldest system that packages run on. (manylinux_2_35 is named after it.)
NEWEST = {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}
# The libraries that every such system has.
SYSTEM_LIBRARIES = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2",
                    "librt.so.1", "libresolv.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
_VERSION = re.compile(r"^ +0x[0-9a-f]{8} 0x[0-9a-f]{2} \d+ ([A-Z]+)_([\d.]+)$", re.MULTILINE)
_NEEDED = re.compile(r"^ +NEEDED +(\S+)$", re.MULTILINE)


def elf_files(folder):
    """The programs and libraries below a folder, sorted."""
    found = []
    for place, _, names in os.walk(folder):
        for path in (os.path.join(place, name) for name in names):
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    if file.read(4) == b"\x7fELF":
                        found.append(path)
    return sorted(found)


def complaints(folder):
    """Why a program or library below the folder would not run on the oldest system, as sentences."""
    found = elf_files(folder)
    bundled = {os.path.basename(path) for path in found}
    return [f"{os.path.relpath(path, folder)} {why}" for path in found for why in _faults(path, bundled)]


def _faults(path, bundled):
    said = _objdump("-p", path)
    needs = said[said.find("Version References:"):] if "Version References:" in said else ""
    for family, version in sorted(set(_VERSION.findall(needs))):
        if family in NEWEST and tuple(map(int, version.split("."))) > NEWEST[family]:
            yield f"asks for {family}_{version} ({_symbols(path, family, version)}), which Ubuntu 22.04 does not have"
    for library in _NEEDED.findall(said):
        if library not in SYSTEM_LIBRARIES and library not in bundled:
            yield f"needs {library}, which is in no package"
    if ".debug_info" in _objdump("-h", path):
        yield "has its debug symbols"


def _symbols(path, family, version):
    lines = _objdump("-T", path).splitlines()
    return ", ".join(sorted({line.split()[-1] for line in lines if re.search(rf"\b{family}_{re.escape(version)}\b", line)}))


def _objdump(*words):
    answer = subprocess.run(["objdump", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            errors="replace", check=False)
    return answer.stdout  # (A static program has no dynamic symbols, which is no fault.)
