"""A file system that stands for a shared one and stops answering when it is told to.

It is a FUSE file system in memory, served by a thread of the test; its mount is in a mount namespace of the calling
thread's, which the processes share that are started from there. Root alone may do that.
"""

import ctypes
import errno
import os
import stat
import struct
import threading

CLONE_NEWNS = 0x20000
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 16384, 1 << 18
MNT_DETACH = 2
ROOT = 1  # Number of the root directory.
(LOOKUP, FORGET, GETATTR, SETATTR, MKDIR, UNLINK, RMDIR, RENAME, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, INIT, OPENDIR,
 READDIR, RELEASEDIR, CREATE, INTERRUPT, BATCH_FORGET, RENAME2) = (
     1, 2, 3, 4, 9, 10, 11, 12, 14, 15, 16, 17, 18, 20, 26, 27, 28, 29, 35, 36, 42, 45)
_SIZE_IS_SET = 8
_KEEP_CACHE = 2

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def may_mount():
    return os.geteuid() == 0 and os.path.exists("/dev/fuse")


def leave_the_mounts_of_others():
    """Mounts of the calling thread, and of what it starts from now on, are seen by nobody else."""
    _check(_libc.unshare(CLONE_NEWNS))
    _check(_libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))


class HungFiles:
    """Mounted at `path`; answers until hang(), and again from go_on() on, also what was asked meanwhile."""

    def __init__(self, path):
        self.path = str(path)
        self._nodes = {ROOT: {}}  # From a number to a dict of names, or to a bytearray.
        self._last = ROOT
        self._lock = threading.Lock()
        self._hangs = False
        self._held = []
        self._device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % self._device
        _check(_libc.mount(b"hung", self.path.encode(), b"fuse", MS_NOSUID | MS_NODEV, options.encode()))
        threading.Thread(target=self._serve, daemon=True).start()

    def hang(self):
        with self._lock:
            self._hangs = True

    def asked(self):
        """How many requests wait for their answers."""
        with self._lock:
            return len(self._held)

    def go_on(self):
        with self._lock:
            self._hangs = False
            held, self._held = self._held, []
        for request in held:
            self._answer(request)

    def unmount(self):
        self.go_on()
        _check(_libc.umount2(self.path.encode(), MNT_DETACH))

    def _serve(self):
        while True:
            try:
                request = os.read(self._device, 1 << 18)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):
                    continue
                return  # The file system is unmounted.
            with self._lock:
                if self._hangs:
                    self._held.append(request)
                    continue
            self._answer(request)

    def _answer(self, request):
        _, what, unique, number = struct.unpack_from("<IIQQ", request)
        if what in (FORGET, BATCH_FORGET, INTERRUPT):
            return
        with self._lock:
            try:
                code, answer = 0, self._do(what, number, request[40:])
            except OSError as error:
                code, answer = -error.errno, b""
        try:
            os.write(self._device, struct.pack("<IiQ", 16 + len(answer), code, unique) + answer)
        except OSError:
            pass  # Its caller has gone.

    def _attributes(self, number):
        node = self._nodes[number]
        is_directory = isinstance(node, dict)
        mode = (stat.S_IFDIR if is_directory else stat.S_IFREG) | 0o755  # (Programs may be there.)
        size = 0 if is_directory else len(node)
        return struct.pack("<6Q10I", number, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def _entry(self, number):
        return struct.pack("<4Q2I", number, 0, 0, 0, 0, 0) + self._attributes(number)

    def _make(self, directory, name, node):
        self._last += 1
        self._nodes[self._last] = node
        self._nodes[directory][name] = self._last
        return self._last

    def _do(self, what, number, body):
        if what == INIT:
            major, _, read_ahead, _ = struct.unpack_from("<4I", body)
            return struct.pack("<4I2H2I2H8I", major, 31, read_ahead, 0, 16, 12, 1 << 16, 1, 16, 0, *[0] * 8)
        if what == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self._attributes(number)
        if what == SETATTR:
            valid, _, _, size = struct.unpack_from("<IIQQ", body)
            if valid & _SIZE_IS_SET:
                node = self._nodes[number]
                node[:] = node[:size].ljust(size, b"\0")
            return struct.pack("<QII", 0, 0, 0) + self._attributes(number)
        if what == LOOKUP:
            name = body.rstrip(b"\0")
            if name not in self._nodes[number]:
                raise OSError(errno.ENOENT, "")
            return self._entry(self._nodes[number][name])
        if what == MKDIR:
            return self._entry(self._make(number, body[8:].rstrip(b"\0"), {}))
        if what == CREATE:
            made = self._make(number, body[16:].rstrip(b"\0"), bytearray())
            return self._entry(made) + struct.pack("<QII", 0, 0, 0)
        if what in (OPEN, OPENDIR):
            # (Pages in memory stay there, also those of running programs.)
            return struct.pack("<QII", 0, _KEEP_CACHE if what == OPEN else 0, 0)
        if what in (UNLINK, RMDIR):
            self._nodes[number].pop(body.rstrip(b"\0"))
            return b""
        if what in (RENAME, RENAME2):
            directory, = struct.unpack_from("<Q", body)
            old, new = body[8 if what == RENAME else 16:].rstrip(b"\0").split(b"\0")
            self._nodes[directory][new] = self._nodes[number].pop(old)
            return b""
        if what == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return bytes(self._nodes[number][offset:offset + size])
        if what == WRITE:
            _, offset, size = struct.unpack_from("<QQI", body)
            node = self._nodes[number]
            node.extend(bytes(max(0, offset - len(node))))
            node[offset:offset + size] = body[40:40 + size]
            return struct.pack("<II", size, 0)
        if what == READDIR:
            return self._entries(number, *struct.unpack_from("<QI", body, 8))
        if what == STATFS:
            return struct.pack("<5Q4I24x", 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 4096, 255, 4096, 0)
        if what in (RELEASE, RELEASEDIR, FSYNC):
            return b""
        raise OSError(errno.ENOSYS, "")

    def _entries(self, number, offset, size):
        answer = b""
        for place, (name, node) in enumerate(list(self._nodes[number].items())[offset:], offset + 1):
            kind = stat.S_IFDIR if isinstance(self._nodes[node], dict) else stat.S_IFREG
            entry = struct.pack("<QQII", node, place, len(name), kind >> 12) + name
            entry = entry.ljust((len(entry) + 7) // 8 * 8, b"\0")
            if len(answer) + len(entry) > size:
                break
            answer += entry
        return answer
