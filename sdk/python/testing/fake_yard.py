"""The yard's end of the report channel, for tests of programs that report."""

import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

WELCOME = {"t": "welcome", "v": 1, "config": {}, "checkpoint": None, "iteration": 0}
HANG_UP = "hang up"


def obliging(message):
    """Welcomes, and says ok to every report."""
    if message["t"] == "hello":
        return WELCOME
    if message["t"] == "report":
        return {"t": "ok", "seq": message.get("seq")}
    return None


def stopping_at(count):
    """As `obliging`, but answers report number `count` and every later one with stop."""
    seen = [0]

    def answer(message):
        if message["t"] == "report":
            seen[0] += 1
            if seen[0] >= count:
                return {"t": "stop", "reason": "stop", "grace_s": 10}
        return obliging(message)

    return answer


class FakeYard:
    """A yard for one program, on a thread of its own; used in a `with` block.

    Args:
        answer: called with each message, returns the one to send back (a dict, or bytes as they
            are), None for none, or HANG_UP.
        listen: serve on a path (`path`) instead of a socket pair (`fd`).
    """

    def __init__(self, answer=obliging, listen=False):
        self.messages = []  # The messages that came, in order; complete after finish().
        self.path = self.fd = None
        self._answer = answer
        self._directory = None
        if listen:
            self._directory = tempfile.mkdtemp(prefix="sdk", dir="/tmp")
            self.path = os.path.join(self._directory, "s")
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(self.path)
            self._listener.listen(1)
            self._end = None
        else:
            self._end, self._program = socket.socketpair()
            self.fd = self._program.fileno()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def spec(self):
        """The value of YARD_FD for a program in this process."""
        return "%d:%d" % (self.fd, os.fstat(self.fd).st_ino)

    def reports(self):
        return [message for message in self.messages if message["t"] == "report"]

    def is_full(self):
        """Nothing more can be written to it by the program in this process."""
        return not select.select([], [self._program], [], 0)[1]

    def run(self, command, **kwargs):
        """Runs `command` to its end with the channel as its descriptor 3, as the yard does."""
        environment = outside(kwargs.pop("env", {}))
        keep = ()
        if self.fd is None:
            environment["YARD_SOCKET"] = self.path
        else:
            environment["YARD_FD"] = "3:%d" % os.fstat(self.fd).st_ino
            keep = (self.fd,)
            command = [sys.executable, "-c",
                       "import os, sys; os.dup2(%d, 3); os.execvp(sys.argv[1], sys.argv[1:])" %
                       self.fd] + list(command)
        result = subprocess.run(command, env=environment, pass_fds=keep, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, timeout=120, **kwargs)
        self.finish()
        return result

    def finish(self):
        """Closes the program's end and waits until everything it sent has come."""
        if self.fd is not None:
            self._program.close()
        elif self._end is None:
            # Nobody connected: end the wait for it.
            with socket.socket(socket.AF_UNIX) as nobody:
                nobody.connect(self.path)
        self._thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._end is not None:
            try:
                self._end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        if self._thread.is_alive():
            self.finish()
        if self.fd is not None:
            self._program.close()
        if self._directory is not None:
            self._listener.close()
            shutil.rmtree(self._directory)

    def _serve(self):
        if self._end is None:
            self._end = self._listener.accept()[0]
        with self._end, self._end.makefile("rb") as lines:
            for line in lines:
                message = json.loads(line)
                self.messages.append(message)
                answer = self._answer(message)
                if answer == HANG_UP:
                    self._end.shutdown(socket.SHUT_RDWR)
                    return
                if isinstance(answer, dict):
                    answer = json.dumps(answer).encode() + b"\n"
                if answer:
                    try:
                        self._end.sendall(answer, socket.MSG_NOSIGNAL)
                    except OSError:
                        pass  # The program left; what it sent before still counts.


def outside(extra=()):
    """The environment of this process without a yard in it, and with `extra`."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("YARD_")}
    environment.update(extra)
    return environment
