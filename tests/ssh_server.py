"""A server of ssh for tests, on a port of 127.0.0.1, that plays another machine, or on a host of a farm (tests/slurm)."""

import os
import pathlib
import pwd
import socket
import subprocess
import time

from tests import yard_case

SSHD = "/usr/sbin/sshd"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Sshd:
    """A server of ssh; `lines` are more lines of its configuration, `variables` those of its sessions.

    `address` is where it listens, and `before` the words that start it there.
    """

    def __init__(self, directory, variables, lines=(), address="127.0.0.1", before=()):
        self.directory = pathlib.Path(directory)
        self.address = address
        self.before = before
        self.directory.mkdir()
        for name in ("host_key", "key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name], cwd=directory, check=True)
        self.log = self.directory / "log"
        # (Another test may have taken the port meanwhile.)
        while not self._start(directory, variables, lines):
            pass

    def _start(self, directory, variables, lines):
        """False: the port is taken."""
        self.port = free_port()
        variables = " ".join('"%s=%s"' % variable for variable in variables.items())
        (self.directory / "sshd_config").write_text("\n".join((
            "Port %d" % self.port, "ListenAddress " + self.address, "HostKey %s/host_key" % directory,
            "AuthorizedKeysFile %s/key.pub" % directory, "StrictModes no", "UsePAM no", "PidFile none",
            "PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin yes", "MaxStartups 100",
            "SetEnv " + variables, *lines)) + "\n")
        words = [SSHD, "-D", "-e", "-f", "%s/sshd_config" % directory]
        if os.getuid() == 0:
            # As root it wants a directory of its own below /run, which need not be there.
            words = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec \"$@\"",
                     "sh", *words]
        with self.log.open("w") as log:
            self.process = subprocess.Popen([*self.before, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + yard_case.LONG
        while "Server listening" not in self.log.read_text():
            if self.process.poll() is not None and "Address already in use" in self.log.read_text():
                return False
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("sshd does not start: " + self.log.read_text())
            os.sched_yield()
        return True

    def client_config(self, name="farm", **options):
        """The path of a configuration for ssh, in which the server is `name`."""
        path = self.directory / "ssh_config"
        settings = {"HostName": self.address, "Port": self.port, "User": pwd.getpwuid(os.getuid()).pw_name,
                    "IdentityFile": "%s/key" % self.directory, "IdentitiesOnly": "yes", "IdentityAgent": "none",
                    "UserKnownHostsFile": "%s/known" % self.directory, "StrictHostKeyChecking": "accept-new", **options}
        path.write_text("Host %s\n" % name + "".join("  %s %s\n" % setting for setting in settings.items()))
        return path

    def accepted(self):
        """How many connections have been let in."""
        return self.log.read_text().count("Accepted publickey")

    def stop(self):
        self.process.terminate()
        self.process.wait()
