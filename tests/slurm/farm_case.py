"""Test cases with a yard on this machine, and a farm of hosts with addresses of their own (slurm_farm.py).

The gate of the yard is at the farm's address of this machine. The nodes do not see RUNTIME and STATE, but the directory of the test, as a
shared file system. A test that needs namespaces and is on a machine that denies them holds nothing there, and says so (`needs_namespaces`).
"""

import functools
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from tests import pool_case, ssh_server, yard_case
from tests.slurm import slurm_farm

PROGRAMS = str(pathlib.Path("tests/slurm/programs").absolute())


def needs_slurm():
    """Skips, or fails in CI, where Slurm is not installed."""
    missing = [package for program, package in slurm_farm.PACKAGES.items()
               if not shutil.which(program)]
    if missing:
        what = "tools/setup installs %s" % " ".join(missing)
        raise AssertionError(what) if os.environ.get("CI") else unittest.SkipTest(what)


def needs_namespaces(what):
    """A test of `what`; on a plain farm it is listed as not held."""
    def decorate(test):
        @functools.wraps(test)
        def held(self):
            if self.has_namespaces:
                return test(self)
            return print("not held on a machine without network namespaces: " + what, file=sys.stderr)
        return held
    return decorate


class FarmCase(pool_case.ReportsCase):
    """`farm_options` are those of Farm.up(); `cls.farm` is the farm."""

    farm_options = {}
    node_lost_after = "2m"

    @classmethod
    def before_up(cls):
        slurm_farm.clear_ruins("/tmp")
        top = tempfile.mkdtemp(prefix="farm-", dir="/tmp")
        os.chmod(top, 0o755)
        cls.addClassCleanup(shutil.rmtree, top, ignore_errors=True)
        cls.has_namespaces = slurm_farm.namespaces_allowed()
        cls.port = yard_case.free_port()
        hidden = [pathlib.Path(cls.directory, name) for name in ("run", "state")]
        for path in hidden:
            path.mkdir(mode=0o700)
        cls.farm = slurm_farm.Farm(top)
        address = "127.0.0.1"
        if cls.has_namespaces or not cls.farm_options.get("hosts_only"):
            cls.addClassCleanup(cls.farm.wipe)
            cls.farm.up(owner=os.getpid(), hide=hidden, **cls.farm_options)
            address = cls.farm.controller_address
            cls.environment["SLURM_CONF"] = cls.farm.slurm_conf
        cls.gate = "tcp://%s:%d" % (address, cls.port)
        cls.up_words = ("--gate_address", address, "--gate_port", str(cls.port),
                        "--service", "launcher.node_lost_after=" + cls.node_lost_after)

    def on(self, host, *words, **more):
        """The process of a command on a host of the farm; killed at the end of the test."""
        process = subprocess.Popen(self.farm.words_on(host, list(words)), stdin=subprocess.DEVNULL,
                                   **{"env": self.environment, "cwd": "/", **more})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def on_host(self, host, *words):
        """The stdout of a command on a host."""
        return slurm_farm.call(*self.farm.words_on(host, list(words))).stdout

    def programs_on(self, host):
        """The processes of attempts on a host (their programs, and what these have started)."""
        found = []
        for pid in self.farm.pids_on(host):
            try:
                if b"YARD_VARIABLES=" in pathlib.Path("/proc/%d/environ" % pid).read_bytes():
                    found.append(pid)
            except OSError:
                continue
        return found

    def mended(self, host):
        """The host is as it was: it has power, its cable, and no rule of the firewall."""
        self.farm.start_node(host)
        self.farm.mend_node(host)
        self.on_host(host, "nft", "flush", "ruleset")

    def trial_of(self, name):
        return json.loads(self.yard("show", name, "--json")[0])

    def rank_lines(self, text):
        """From each rank's number to the object that it has printed (programs/ranks.py)."""
        found = {}
        for line in text.splitlines():
            at = line.find('{"rank"')
            if at >= 0:
                row = json.loads(line[at:])
                found[row["rank"]] = row
        return found


class HostsCase(FarmCase):
    """Three hosts, which join pools through the gate or over ssh."""

    farm_options = {"nodes": 3, "hosts_only": True}

    def node(self, name, host, slots=2, pool="lab", gates="", address=None):
        """A node with a key of its own connects from a host, through the gate."""
        self.make_key(name, pool)
        self.call("SetNode", name=name, pool=pool, slots=slots)
        self.start_node(name, host, gates, address)
        self.await_true(lambda: self.state(name) == "connected", lambda: (self.call("Nodes"), self.log(name)))

    def make_key(self, name, pool):
        subprocess.run([self.yard_program, "gate", "remove", name], cwd=self.directory, env=self.environment,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        pathlib.Path(self.directory, name + ".yard-key").unlink(missing_ok=True)
        self.yard("gate", "allow", name, "--node", "--pool", pool, "--address", self.gate)

    def start_node(self, name, host, gates="", address=None):
        words = [str(pathlib.Path(pool_case.NODE).absolute()), "--folder=%s/n-%s" % (self.farm.local, name),
                 "--key=%s/%s.yard-key" % (self.directory, name), "--shim=" + str(pathlib.Path(pool_case.SHIM).absolute()),
                 *(["--gate=" + gates] if gates else []), "--address=%s" % (address or self.farm.address(host))]
        with open(os.path.join(self.directory, name + ".log"), "ab") as log:
            self.nodes[name] = subprocess.Popen(self.farm.words_on(host, words), env=self.environment, cwd="/", stdin=subprocess.DEVNULL,
                                                stdout=log, stderr=log)

    def log(self, name):
        return pathlib.Path(self.directory, name + ".log").read_text()

    def processes_of(self, name):
        mark = ("/n-%s" % name).encode()
        found = []
        for host in self.farm.each():
            for pid in self.farm.pids_on(host):
                try:
                    if mark in pathlib.Path("/proc/%d/cmdline" % pid).read_bytes() + pathlib.Path("/proc/%d/environ" % pid).read_bytes():
                        found.append(pid)
                except OSError:
                    continue
        return found

    def stop_nodes(self):
        if self.has_namespaces:
            for host in self.farm.each():
                self.mended(host)
        for node in self.nodes.values():
            for pid in slurm_farm.children_of(node.pid):  # (nsenter passes no signal on.)
                os.kill(pid, signal.SIGTERM)
            node.wait(yard_case.LONG)
        super().stop_nodes()

    @classmethod
    def serve_ssh(cls):
        """A server of ssh on each host; `ssh hostN` of $YARD_SSH goes there."""
        configs = []
        for host in cls.farm.each():
            home = cls.farm.local / "home"
            slurm_farm.call(*cls.farm.words_on(host, ["mkdir", "-p", str(home)]))
            sshd = ssh_server.Sshd("%s/sshd-%d" % (cls.directory, host), {"HOME": home, "TMPDIR": home}, address=cls.farm.address(host),
                                   before=cls.farm.words_on(host, []))
            cls.addClassCleanup(sshd.stop)
            configs.append(sshd.client_config("host%d" % host).read_text())
        config = pathlib.Path(cls.directory, "ssh_config")
        config.write_text("\n".join(configs))
        cls.environment["YARD_SSH"] = "ssh -F " + shlex.quote(str(config))
