"""Checks packages of tools/package: the same bytes each time, small, and no symbol that the oldest system lacks."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

from tools.packages import programs

_LIMIT = 25_000_000  # Bytes of a package.
_KINDS = {"wheel": "*.whl", "deb": "*.deb"}


def check(checkout, package=None, run=None, rebuild=None):
    """Complaints about the packages, as sentences. `package(checkout, directory)` makes them; default: tools/package. `run(words)` runs a
    command. With `rebuild` (default: YARD_REBUILD is set) a copy of the checkout makes the second ones, and compiles everything for that."""
    run = run or _run
    package = package or (lambda source, directory: run([os.path.join(source, "tools/package"), directory]))
    rebuild = bool(os.environ.get("YARD_REBUILD")) if rebuild is None else rebuild
    with tempfile.TemporaryDirectory(prefix="trainyard-packages-") as work:
        sources = [checkout, _copy(checkout, os.path.join(work, "copy")) if rebuild else checkout]
        directories = [os.path.join(work, name) for name in ("first", "second")]
        for source, directory in zip(sources, directories):
            made = package(source, directory)
            if made.returncode != 0:
                return ["tools/package failed: " + made.stdout.strip()]
        sentences = []
        for kind, pattern in _KINDS.items():
            paths = [path for directory in directories for path in glob.glob(os.path.join(directory, pattern))]
            if len(paths) != 2:
                sentences.append(f"tools/package makes no {kind}")
                continue
            sentences += _same(kind, *paths) + _small(paths[0]) + _contents(kind, paths[0], os.path.join(work, kind), run)
        return sentences


def _copy(checkout, folder):
    """A copy of the files under version control, whose builds take nothing from a cache."""
    tracked = subprocess.run(["git", "-c", "safe.directory=*", "-C", checkout, "ls-files", "-z"], capture_output=True, text=True,
                             check=True).stdout.split("\0")
    for name in filter(None, tracked):
        target = os.path.join(folder, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(os.path.join(checkout, name), target, follow_symlinks=False)
    with open(os.path.join(folder, "user.bazelrc"), "w", encoding="utf-8") as settings:
        settings.write("build --disk_cache=\n")
    return folder


def _same(kind, first, second):
    if os.path.basename(first) != os.path.basename(second):
        return [f"the {kind} has another name when it is made again: {os.path.basename(second)}"]
    contents = []
    for path in (first, second):
        with open(path, "rb") as file:
            contents.append(file.read())
    return [] if contents[0] == contents[1] else [f"the {kind} has other bytes when it is made again"]


def _small(path):
    size = os.path.getsize(path)
    return [f"{os.path.basename(path)} has {size} bytes, and {_LIMIT} are allowed"] if size > _LIMIT else []


def _contents(kind, path, folder, run):
    """Complaints about the programs and libraries in a package, which are unpacked into the folder."""
    words = ["dpkg-deb", "--extract", path, folder] if kind == "deb" else [sys.executable, "-m", "zipfile", "--extract", path, folder]
    answer = run(words)
    if answer.returncode != 0:
        return [f"{os.path.basename(path)} cannot be unpacked: {answer.stdout.strip()}"]
    if not programs.elf_files(folder):
        return [f"{os.path.basename(path)} has no program in it"]
    return [f"{kind}: {sentence}" for sentence in programs.complaints(folder)]


def _run(words):
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)
