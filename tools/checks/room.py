"""Makes room on the disk before a configuration is built: without it Bazel's folders grow until tests meet a full disk.

Only when less than ENOUGH is free, and only what Bazel makes again: first the outputs of checkouts of this project
that are gone, then the disk cache, what was used longest ago first.
"""

import contextlib
import getpass
import os
import shutil
import stat

# Bytes that one configuration writes from nothing (outputs, and the same once more in the disk cache), with a reserve
# for its tests.
ENOUGH = 24 * 10**9

# Bytes of the disk cache that stay on a small disk, which would otherwise compile everything each time.
KEPT = 12 * 10**9

_WORKSPACE = "yard"


class Room:
    """Frees bytes on one file system.

    output_user_root: Bazel's folder of output bases (~/.cache/bazel/_bazel_USER); disk_cache: the folder of --disk_cache.
    free: returns the bytes that are free now. enough, kept: bytes.
    """

    def __init__(self, output_user_root, disk_cache, free, say, enough=ENOUGH, kept=KEPT):
        self._output_user_root = output_user_root
        self._disk_cache = disk_cache
        self._free = free
        self._say = say
        self._enough = enough
        self._kept = kept

    def make(self):
        """Returns the bytes that are free at the end; says what it removed, and when that was not enough."""
        before = self._free()
        if before >= self._enough:
            return before
        self._remove_outputs_of_checkouts_that_are_gone()
        self._trim_the_disk_cache()
        free = self._free()
        if free > before:
            self._say(f"disk: {_size(before)} were free; removed {_size(free - before)} of old build results")
        if free < self._enough:
            self._say(f"disk: {_size(free)} are free, and a configuration from nothing takes up to "
                      f"{_size(self._enough)}: tests can fail for want of room. Next step: free some; what is large: "
                      f"du -xh {os.path.dirname(self._disk_cache)} {self._output_user_root} | sort -h | tail")
        return free

    def _remove_outputs_of_checkouts_that_are_gone(self):
        for base in _folders(self._output_user_root):
            if self._free() >= self._enough:
                return
            checkout = _checkout(base)
            if checkout and not os.path.exists(checkout):
                _remove(base)

    def _trim_the_disk_cache(self):
        files = sorted(_files(self._disk_cache))
        spare = sum(size for _, size, _ in files) - self._kept
        missing = min(self._enough - self._free(), spare)
        for _, size, path in files:
            if missing <= 0:
                return
            try:
                os.unlink(path)
            except OSError:  # another run has trimmed it, or it is not ours
                continue
            missing -= size


def usual(say):
    """The room of the folders that tools/test builds in (Bazel's own default, and --disk_cache in .bazelrc)."""
    home = os.path.expanduser("~")
    return Room(os.path.join(home, ".cache", "bazel", "_bazel_" + getpass.getuser()),
                os.path.join(home, ".cache", "trainyard", "bazel"), lambda: shutil.disk_usage(home).free, say)


def _checkout(base):
    """The checkout that an output base of this project belongs to, or "" if it is another project's."""
    try:
        if not os.path.isdir(os.path.join(base, "execroot", _WORKSPACE)):
            return ""
        with open(os.path.join(base, "DO_NOT_BUILD_HERE"), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def _folders(path):
    try:
        return [entry.path for entry in os.scandir(path) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _files(path):
    """(time of the last use, bytes, path) of each file below `path`."""
    for folder, _, names in os.walk(path):
        for name in names:
            file = os.path.join(folder, name)
            try:
                found = os.lstat(file)
            except OSError:
                continue
            yield found.st_mtime, found.st_blocks * 512, file


def _remove(folder):
    """Removes it with what Bazel has made read-only."""
    with contextlib.suppress(OSError):
        for path, _, _ in os.walk(folder):
            os.chmod(path, stat.S_IRWXU)
    shutil.rmtree(folder, ignore_errors=True)


def _size(count):
    return f"{count / 1e9:.1f} GB"
