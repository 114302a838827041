"""SIGTERM and SIGHUP end a program as Ctrl-C does: with all that it has started."""

import os
import select
import signal
import time

GRACE_S = 60  # Bazel gives its tests 15 s to end.


class Interruption:
    """Once installed, each of SIGINT, SIGTERM and SIGHUP raises KeyboardInterrupt in the main thread, after the
    commands that run have ended.

    These are the descendants in this program's process group, which a Ctrl-C reaches: the client of Bazel, not its
    server. They get SIGINT, but not after a Ctrl-C, which has reached them already. Commands that still run after
    `grace_s` seconds, or when a second signal comes, are killed.
    """

    def __init__(self, grace_s=GRACE_S):
        self._grace_s = grace_s
        self._came = False

    def install(self):
        # SIGINT also in the background of a script, which ignores it: so would all that is started from here.
        signal.signal(signal.SIGINT, self._end)
        signal.signal(signal.SIGTERM, self._end)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup
            signal.signal(signal.SIGHUP, self._end)

    def _end(self, number, _frame):
        again, self._came = self._came, True
        commands = [] if again else commands_of_ours()
        if number != signal.SIGINT:
            send(signal.SIGINT, commands)
        await_end(commands, time.monotonic() + self._grace_s)
        send(signal.SIGKILL, commands_of_ours())
        raise KeyboardInterrupt


def commands_of_ours():
    """The pids of the descendants in our process group that run."""
    parents, group = {}, os.getpgrp()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                state, parent, its_group = file.read().rpartition(")")[2].split()[:3]
        except OSError:
            continue  # It has ended.
        if state not in "ZX" and int(its_group) == group:
            parents[int(name)] = int(parent)
    found, waiting = [], [os.getpid()]
    while waiting:
        parent = waiting.pop()
        children = [pid for pid, its_parent in parents.items() if its_parent == parent]
        found += children
        waiting += children
    return found


def send(number, pids):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def await_end(pids, deadline):
    """Returns when all have ended, or at the deadline."""
    for pid in pids:
        try:
            ends = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            poll = select.poll()
            poll.register(ends, select.POLLIN)
            poll.poll(max(0, deadline - time.monotonic()) * 1000)
        finally:
            os.close(ends)
