"""clang-tidy over C++ files. A file without complaints is not looked at again before the file, a header of ours that it
includes, the way it is compiled, or the list of checks has changed."""

import hashlib
import os
import re
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
# The part of a path that differs from checkout to checkout.
_OUTPUT_BASE = re.compile("/[^ ]*/execroot/")
_UNUSED_S = 30 * 24 * 3600
_HEARTBEAT_S = 60


class Sources:
    """The contents of files, with what they include: headers in the checkout, or generated ones."""

    def __init__(self, directory):
        self._directory = directory
        self._files = {}  # Path: (digest, names of what it includes), or None.
        self._lock = threading.Lock()

    def digests(self, source, folders):
        """Pairs of path and digest of `source` and, through all headers, what it includes by quotes. A header
        is looked for in the checkout and in `folders`. Others come with the machine."""
        found, waiting = {}, [source]
        while waiting:
            path = waiting.pop()
            if path in found:
                continue
            file = self._read(path)
            if file is None:
                continue
            found[path] = file[0]
            waiting.extend(self._find(name, folders) for name in file[1])
        return sorted(found.items())

    def _find(self, name, folders):
        for folder in ["", *folders]:
            path = os.path.join(folder, name)
            if self._read(path) is not None:
                return path
        return name

    def _read(self, path):
        with self._lock:
            if path not in self._files:
                try:
                    with open(os.path.join(self._directory, path), "rb") as file:
                        content = file.read()
                    includes = [name.decode(errors="replace") for name in _INCLUDE.findall(content)]
                    self._files[path] = (hashlib.sha256(content).hexdigest(), includes)
                except OSError:
                    self._files[path] = None
            return self._files[path]


class Passed:
    """Remembers, in a folder, what has passed; what was not asked for in a month is forgotten."""

    def __init__(self, folder):
        self._folder = folder
        os.makedirs(folder, exist_ok=True)

    def __contains__(self, key):
        try:
            os.utime(os.path.join(self._folder, key))
            return True
        except OSError:
            return False

    def add(self, key):
        with open(os.path.join(self._folder, key), "w", encoding="utf-8"):
            pass

    def forget_unused(self, now):
        for entry in os.scandir(self._folder):
            if entry.stat().st_mtime < now - _UNUSED_S:
                os.unlink(entry.path)


def key(command, sources, context):
    """The key of one entry of the compile commands; `context` is what is the same for all entries."""
    arguments = command["arguments"]
    folders = [argument for flag, argument in zip(arguments, arguments[1:]) if flag == "-isystem"]
    files = [f"{path} {digest}" for path, digest in sources.digests(command["file"], folders)]
    parts = [_OUTPUT_BASE.sub("", part) for part in [*arguments, *files]]
    return hashlib.sha256("\0".join([*context, *parts]).encode()).hexdigest()


def complaints(commands, directory, database_folder, passed, say, tool="clang-tidy-14"):
    """The complaints of `tool` about each file, in the order of `commands`; files without complaints are left out."""
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout
    context = [version]
    # .bazelrc names the version of the system's headers.
    for name in [".clang-tidy", ".bazelrc"]:
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            context.append(file.read())
    sources = Sources(directory)
    done, spoke = [], [time.monotonic()]

    def check(command):
        known = key(command, sources, context)
        if known in passed:
            return ""
        answer = subprocess.run([tool, "-p", database_folder, "--quiet", command["file"]], cwd=directory,
                                capture_output=True, text=True, check=False)
        done.append(command["file"])
        if answer.returncode == 0:
            passed.add(known)
        else:
            say(f"tidy: {command['file']} is complained about")
        if time.monotonic() - spoke[0] >= _HEARTBEAT_S:
            spoke[0] = time.monotonic()
            say(f"tidy: {len(done)} files looked at, now at {command['file']}")
        if answer.returncode == 0:
            return ""
        ended = f"{command['file']}: {tool} ended with {answer.returncode}"
        return answer.stdout.strip() or answer.stderr.strip() or ended

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found = [text for text in pool.map(check, commands) if text]
    passed.forget_unused(time.time())
    return found
