#!/usr/bin/env python3
"""A Slurm cluster of N nodes on one machine, without systemd and without a line under /etc/slurm: README.md.

Verbs: up down wipe status env on crash-node start-node crash-slurmd cut-node mend-node crash-ctld stop-ctld start-ctld; `--help` has the flags.

Every verb may be typed again: `up` of a farm that is up, or half up, does what is missing, and `down` of what is down does
nothing. All files are in one directory, but for /run/netns and /etc/netns, which `down` clears.
"""

import argparse
import contextlib
import json
import os
import pathlib
import pwd
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time

DIRECTORY = "/tmp/slurm-farm"
FARMS = 100  # At most at a time on one machine.
MOST_NODES = 64
READY = 60  # Seconds until all nodes have run a step, at most.
PACKAGES = {"slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client", "munged": "munge"}

CONFIGURATION = """\
ClusterName=farm
SlurmctldHost={host}({controller})
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={directory}/run/munge.socket
CredType=cred/munge
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool/%n
SlurmctldPidFile={directory}/run/slurmctld.pid
SlurmdPidFile={directory}/run/slurmd.%n.pid
TaskProlog={directory}/etc/task_prolog
SlurmctldLogFile={directory}/log/slurmctld.log
SlurmdLogFile={directory}/log/slurmd.%n.log
ProctrackType=proctrack/{proctrack}
TaskPlugin={task}
JobAcctGatherType=jobacct_gather/{gather}
JobAcctGatherFrequency=task=2
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_min_interval=0,batch_sched_delay=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
ReturnToService=2
SlurmdTimeout=10
SlurmctldTimeout=10
InactiveLimit=0
KillWait=3
MinJobAge=300
UnkillableStepTimeout=20
GresTypes=gpu
SlurmdParameters=config_overrides
LaunchParameters=enable_nss_slurm
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SlurmctldDebug=info
SlurmdDebug=info
"""
PARTITIONS = """\
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=10 State=UP
PartitionName=low Nodes=ALL MaxTime=INFINITE PriorityTier=1 PreemptMode=REQUEUE GraceTime=3 State=UP
PartitionName=short Nodes=ALL MaxTime=2 DefaultTime=1 PriorityTier=10 State=UP
"""
GROUPS = """\
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
ConstrainCores=no
ConstrainRAMSpace=yes
ConstrainSwapSpace=no
AllowedSwapSpace=0
ConstrainDevices=no
"""
# The first process of a node starts slurmd and reaps. Its end is the node's loss of power.
# A slurmd that is killed is started again, as by systemd.
# (`ip netns exec` would mount a new /sys, without the control groups.)
FIRST_PROCESS = """\
hostname "$NODE"
for file in hosts hostname; do mount --bind "/etc/netns/$SPACE/$file" "/etc/$file"; done
mount -t tmpfs -o mode=1777 tmpfs "$LOCAL"
for path in "$@"; do mount -t tmpfs -o mode=700 tmpfs "$path"; done
echo $$ > "$LOCAL/.booted"
trap 'ended=1; kill $first' TERM
while [ -z "$ended" ]; do
    if [ -n "$SLURM_CONF" ]; then slurmd -f "$SLURM_CONF" -N "$NODE" -D > /dev/null 2>&1 & else sleep infinity & fi
    first=$!
    while kill -0 $first 2> /dev/null; do wait $first; done
    sleep 0.2
done
"""


# Programs of administrators are not on the PATH of everyone.
os.environ["PATH"] = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"


class FarmError(Exception):
    """Says what failed, why, and what to do next."""


def call(*words, check=True, timeout=60, **more):
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False, **more)
    except FileNotFoundError as error:
        raise FarmError("there is no program %s; next: tools/setup" % words[0]) from error
    if check and done.returncode != 0:
        raise FarmError("%s ended with %d: %s" % (" ".join(words), done.returncode, (done.stderr or done.stdout).strip()[-400:]))
    return done


def start_ticks(pid):
    """Tells a process from a later one with its number; None: it has ended."""
    try:
        fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def children_of(pid):
    try:
        return [int(word) for word in pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()]
    except OSError:
        return []


def namespaces_allowed():
    """Whether nodes can have networks of their own."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        return False
    name = "farm-probe-%d" % os.getpid()
    allowed = call("ip", "netns", "add", name, check=False).returncode == 0
    if allowed:
        end = "fp%d" % os.getpid()
        allowed = call("ip", "link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", name, check=False).returncode == 0
        call("ip", "link", "del", end, check=False)  # (With the namespace it would go some time later.)
        call("ip", "netns", "del", name, check=False)
    return allowed and call("unshare", "--uts", "--mount", "--pid", "--fork", "true", check=False).returncode == 0


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= end:
            raise FarmError(what() if callable(what) else what)
        time.sleep(0.02)


class Farm:
    """The farm of a directory. Methods raise FarmError."""

    def __init__(self, directory=DIRECTORY):
        self.directory = pathlib.Path(directory)
        self.facts = self.directory / "farm.json"
        self.settings = json.loads(self.facts.read_text()) if self.facts.exists() else None
        self.outer = {}  # The processes of nodes that this one has started.

    # Names and addresses.

    def __getattr__(self, name):
        """A setting of `up`: nodes, net, number, ..."""
        settings = self.__dict__.get("settings")
        if settings is None or name not in settings:
            raise AttributeError("the farm of %s has no %s; next: slurm_farm.py up" % (self.__dict__.get("directory"), name))
        return settings[name]

    @property
    def slurm_conf(self):
        return str(self.directory / "etc/slurm.conf")

    @property
    def environment(self):
        return {**os.environ, "SLURM_CONF": self.slurm_conf}

    @property
    def controller_address(self):
        """Where the machine itself is reached from the nodes."""
        return "10.77.%d.1" % self.number if self.net == "netns" else "127.0.0.1"

    def address(self, node):
        return "10.77.%d.%d" % (self.number, 10 + node) if self.net == "netns" else "127.0.0.1"

    @property
    def local(self):
        """A directory that is another one on each node (netns)."""
        return self.directory / "local"

    @property
    def shared(self):
        """A directory that is the same on all nodes."""
        return self.directory / "shared"

    def space(self, node):
        return "farm%d-node%d" % (self.number, node)

    def cable(self, node):
        return "f%dn%d" % (self.number, node)

    def each(self):
        return range(1, self.nodes + 1)

    # Up.

    def up(self, nodes=3, net="auto", hosts_only=False, cpus=4, gpus=2, memory=2000, proctrack="linuxproc", lines=(), hide=(),
           owner=0):
        """`hosts_only`: hosts with addresses of their own, without Slurm. `lines`: of slurm.conf, KEY=VALUE instead of ours.

        `hide`: directories in whose place each node has an empty one. All nodes are one kernel with one file system, so that a
        unix socket in a directory that all see can be reached from another "node", as on no real one: hide the directories of such sockets.
        `owner`: process whose end makes the farm a ruin, which clear_ruins() removes.
        """
        if self.settings is None:
            self._check(nodes, net, proctrack)
            if net == "auto":
                net = "netns" if namespaces_allowed() else "plain"
            if hosts_only and net == "plain":
                raise FarmError("hosts without Slurm need network namespaces, which this machine denies")
            self.directory.mkdir(parents=True, exist_ok=True)
            os.chmod(self.directory, 0o755)
            self.settings = {
                "nodes": nodes, "net": net, "hosts_only": hosts_only, "cpus": cpus, "gpus": gpus, "memory": memory,
                "proctrack": proctrack, "lines": list(lines), "hide": [str(path) for path in hide],
                "owner": owner, "owner_ticks": start_ticks(owner) if owner else 0, "number": self._take_number(net)}
            self.facts.write_text(json.dumps(self.settings))
        self._write_files()
        if self.net == "netns":
            self._make_network()
        if not self.hosts_only:
            self._start_munge()
            self.start_ctld()
        for node in self.each():
            self.start_node(node)
        if not self.hosts_only:
            self._await_ready()

    @staticmethod
    def _check(nodes, net, proctrack):
        if not 1 <= nodes <= MOST_NODES:
            raise FarmError("a farm has 1 to %d nodes, not %d" % (MOST_NODES, nodes))
        if net not in ("auto", "netns", "plain"):
            raise FarmError("--net is auto, netns or plain, not %s" % net)
        if proctrack not in ("linuxproc", "pgid", "cgroup"):
            raise FarmError("--proctrack is linuxproc, pgid or cgroup, not %s" % proctrack)

    @staticmethod
    def _take_number(net):
        """A number that no other farm of this machine has: of its network and its ports."""
        # (Ports are taken only once the daemons run: two farms that begin at once shall not try the same.)
        for number in range(FARMS) if net == "netns" else random.sample(range(FARMS), FARMS):
            if net == "netns":
                if call("ip", "link", "add", "farm%d" % number, "type", "bridge", check=False).returncode == 0:
                    return number
                continue
            with socket.socket() as probe:
                try:
                    probe.bind(("127.0.0.1", 16700 + number))
                    return number
                except OSError:
                    continue
        raise FarmError("%d farms are on this machine, or `ip link add` is refused; next: wipe one" % FARMS)

    def _write_files(self):
        for name in ("etc", "log", "run", "spool", "state", "shared", "local", "dev"):
            (self.directory / name).mkdir(exist_ok=True)
        for path in (self.shared, self.local):
            os.chmod(path, 0o1777)
        if self.hosts_only:
            return
        etc = self.directory / "etc"
        if not (etc / "munge.key").exists():
            with open(os.open(etc / "munge.key", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as key:
                key.write(secrets.token_bytes(1024))
        (etc / "slurm.conf").write_text(self._configuration())
        # Tasks have a directory for temporary files that is the node's own.
        (etc / "task_prolog").write_text("#!/bin/sh\necho export SLURM_TMPDIR=%s\n" % self.local)
        (etc / "task_prolog").chmod(0o755)
        (etc / "cgroup.conf").write_text(GROUPS if self.proctrack == "cgroup" else "CgroupPlugin=cgroup/v1\n")
        devices = [self.directory / "dev" / ("nvidia%d" % number) for number in range(self.gpus)]
        for device in devices:
            if os.geteuid() == 0 and not device.exists():
                os.mknod(device, 0o666 | 0o020000, os.makedev(1, 3))  # /dev/null by another name.
            device.touch()
        (etc / "gres.conf").write_text("NodeName=node[1-%d] Name=gpu File=%s/dev/nvidia[0-%d]\n"
                                       % (self.nodes, self.directory, self.gpus - 1) if self.gpus else "")

    def _configuration(self):
        in_group = self.proctrack == "cgroup"
        text = CONFIGURATION.format(
            host=socket.gethostname().partition(".")[0], controller=self.controller_address, port=16700 + self.number,
            user=pwd.getpwuid(os.geteuid()).pw_name, directory=self.directory, proctrack=self.proctrack,
            task="task/cgroup" if in_group else "task/none", gather="cgroup" if in_group else "linux").splitlines()
        if not in_group:  # (Fatal together with task/cgroup.)
            text.append("JobAcctGatherParams=OverMemoryKill")
        for line in self.lines:
            key, _, value = line.partition("=")
            text = [one for one in text if one.partition("=")[0].lower() != key.lower()]
            text += [line] if value else []
        for node in self.each():
            where = ("NodeHostname=node%d NodeAddr=%s Port=16818" % (node, self.address(node)) if self.net == "netns" else
                     "NodeHostname=%s NodeAddr=127.0.0.1 Port=%d" % (socket.gethostname().partition(".")[0],
                                                                     17000 + 100 * self.number + node))
            text.append("NodeName=node%d %s CPUs=%d Boards=1 SocketsPerBoard=1 CoresPerSocket=%d ThreadsPerCore=1 RealMemory=%d%s State=UNKNOWN"
                        % (node, where, self.cpus, self.cpus, self.memory, " Gres=gpu:%d" % self.gpus if self.gpus else ""))
        return "\n".join(text) + "\n" + PARTITIONS

    def _make_network(self):
        bridge = "farm%d" % self.number
        if call("ip", "link", "show", bridge, check=False).returncode != 0:
            call("ip", "link", "add", bridge, "type", "bridge")
        call("ip", "addr", "replace", self.controller_address + "/24", "dev", bridge)
        call("ip", "link", "set", bridge, "up")
        hosts = ["127.0.0.1 localhost", "%s %s" % (self.controller_address, socket.gethostname().partition(".")[0])]
        hosts += ["%s node%d" % (self.address(node), node) for node in self.each()]
        for node in self.each():
            space = self.space(node)
            etc = pathlib.Path("/etc/netns", space)
            etc.mkdir(parents=True, exist_ok=True)
            (etc / "hosts").write_text("\n".join(hosts) + "\n")
            (etc / "hostname").write_text("node%d\n" % node)
            if not pathlib.Path("/run/netns", space).exists():
                call("ip", "netns", "add", space)
            if call("ip", "link", "show", self.cable(node), check=False).returncode != 0:
                call("ip", "link", "add", self.cable(node), "type", "veth", "peer", "name", "eth0", "netns", space)
            call("ip", "link", "set", self.cable(node), "master", bridge, "up")
            call("ip", "-n", space, "link", "set", "lo", "up")
            call("ip", "-n", space, "addr", "replace", self.address(node) + "/24", "dev", "eth0")
            call("ip", "-n", space, "link", "set", "eth0", "up")

    def _await_ready(self):
        """The saved state may say that nodes are idle which are not: a step on every node is the proof. (Without slurmctld each command takes 9 s.)"""
        log = self.directory / "log/slurmctld.log"
        wait_until(lambda: self._pid("slurmctld"), READY, "slurmctld does not run: see %s" % log)

        def idle():
            out = call("sinfo", "-h", "-N", "-p", "main", "-o", "%t", check=False, env=self.environment).stdout.split()
            return sum(word in ("idle", "mix", "alloc") for word in out) >= self.nodes
        wait_until(idle, READY, lambda: "not all nodes are ready: " + call("sinfo", "-N", "-l", check=False, env=self.environment).stdout)
        call("srun", "-Q", "-J", "farm-ready", "-D", "/", "-N", str(self.nodes), "--immediate=25", "true", env=self.environment)

    # Parts.

    def _pid(self, name):
        """The process that wrote run/NAME.pid, or 0."""
        try:
            pid = int((self.directory / "run" / (name + ".pid")).read_text())
        except (OSError, ValueError):
            return 0
        return pid if start_ticks(pid) is not None else 0

    def _kill(self, name, seconds):
        """TERM, then KILL after `seconds` (0: at once)."""
        pid = self._pid(name)
        end = time.monotonic() + seconds
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM if seconds else signal.SIGKILL)
            while start_ticks(pid) is not None and time.monotonic() < end:
                time.sleep(0.02)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            wait_until(lambda: start_ticks(pid) is None, 30, "process %d does not end" % pid)
            for outer in self.outer.values():
                outer.poll()
        (self.directory / "run" / (name + ".pid")).unlink(missing_ok=True)

    def _start_munge(self):
        if not self._pid("munged"):
            run = self.directory / "run"
            call("munged", "--key-file=%s/etc/munge.key" % self.directory, "--socket=%s/munge.socket" % run,
                 "--pid-file=%s/munged.pid" % run, "--log-file=%s/log/munged.log" % self.directory,
                 "--seed-file=%s/munged.seed" % run, "--num-threads=4")

    def start_ctld(self):
        if not self._pid("slurmctld"):
            call("nice", "-n", "5", "slurmctld", "-f", self.slurm_conf, cwd="/")
            wait_until(lambda: self._pid("slurmctld"), READY, "slurmctld does not run: see %s/log/slurmctld.log" % self.directory)

    def crash_ctld(self):
        self._kill("slurmctld", 0)

    def process_of_ctld(self):
        return self._pid("slurmctld")

    def stop_ctld(self):
        self._kill("slurmctld", 20)

    def _node_name(self, node):
        return "init.node%d" % node if self.net == "netns" else "slurmd.node%d" % node

    def start_node(self, node):
        if self._pid(self._node_name(node)):
            return
        (self.directory / "spool" / ("node%d" % node)).mkdir(exist_ok=True)
        if self.net == "plain":
            call("nice", "-n", "5", "slurmd", "-f", self.slurm_conf, "-N", "node%d" % node, cwd="/")
            return
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "NODE": "node%d" % node, "SPACE": self.space(node),
                       "LOCAL": str(self.local), "SLURM_CONF": "" if self.hosts_only else self.slurm_conf}
        log = open(self.directory / "log" / ("node%d.log" % node), "ab")
        with log:
            # `unshare --fork` stays as the outer process, and --kill-child ends the node with it.
            outer = self.outer[node] = subprocess.Popen(
                ["nice", "-n", "5", "nsenter", "--net=/run/netns/" + self.space(node), "unshare", "--uts", "--mount", "--pid", "--fork",
                 "--kill-child", "--mount-proc", "sh", "-c", FIRST_PROCESS, "sh", *self.hide],
                env=environment, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        (self.directory / "run" / (self._node_name(node) + ".pid")).write_text(str(outer.pid))
        wait_until(lambda: self.first_process(node) and self._booted(node), 30, lambda: "node%d does not start: %s" % (
            node, (self.directory / "log" / ("node%d.log" % node)).read_text()[-400:]))

    def first_process(self, node):
        """The pid that the node's first process has here, or 0 (netns)."""
        return next(iter(children_of(self._pid(self._node_name(node)))), 0)

    def _booted(self, node):
        return pathlib.Path("/proc/%d/root%s/.booted" % (self.first_process(node), self.local)).exists()

    def crash_node(self, node):
        """The node loses its power: all its processes are gone at once. (plain: slurmd alone; tasks go on.)"""
        self._kill(self._node_name(node), 0)

    def crash_slurmd(self, node):
        """kill -9 of slurmd alone, which is started again; its steps go on."""
        if self.net == "plain":
            self.crash_node(node)
            self.start_node(node)
            return
        before = self._slurmds(node)
        for pid in before:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: set(self._slurmds(node)) - set(before), 30, "slurmd of node%d does not start again" % node)

    def _slurmds(self, node):
        found = []
        for pid in self.pids_on(node):
            with contextlib.suppress(OSError):
                if pathlib.Path("/proc/%d/comm" % pid).read_text() == "slurmd\n":
                    found.append(pid)
        return found

    def cut_node(self, node):
        self._needs_namespaces("cut-node")
        call("ip", "link", "set", self.cable(node), "down")

    def mend_node(self, node):
        self._needs_namespaces("mend-node")
        call("ip", "link", "set", self.cable(node), "up")

    def _needs_namespaces(self, verb):
        if self.net != "netns":
            raise FarmError("%s is of a farm with network namespaces, and this one is plain" % verb)

    def words_on(self, node, words):
        """The command line that runs `words` as if typed on a node, in its directory /."""
        if self.net == "plain":
            return ["env", "SLURMD_NODENAME=node%d" % node, *words]
        first = self.first_process(node)
        if not first:
            raise FarmError("node%d is down; next: slurm_farm.py start-node %d" % (node, node))
        return ["nsenter", "-t", str(first), "-n", "-u", "-m", "-p", "--", *words]

    def pids_on(self, node):
        """The processes of a node by the pids that they have here (netns)."""
        first = self.first_process(node)
        if not first:
            return []
        space, found = os.readlink("/proc/%d/ns/pid" % first), []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.readlink(path / "ns/pid") == space:
                    found.append(int(path.name))
        return found

    # Down.

    def down(self):
        if self.settings is None:
            return
        if not self.hosts_only and self._pid("slurmctld"):
            call("scancel", "-u", pwd.getpwuid(os.geteuid()).pw_name, check=False, env=self.environment)
        for node in self.each():
            self._kill(self._node_name(node), 0 if self.net == "netns" else 10)
        if not self.hosts_only:
            self._kill("slurmctld", 20)
            self._kill_steps()
            self._kill("munged", 5)
        if self.net == "netns":
            self._remove_network()
        self._remove_groups()

    def _kill_steps(self):
        """Programs of slurmd that outlive it (plain)."""
        mark = b"SLURM_CONF=" + self.slurm_conf.encode() + b"\0"
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (path / "comm").read_text() == "slurmstepd\n" and mark in (path / "environ").read_bytes():
                    os.kill(int(path.name), signal.SIGKILL)

    def _remove_network(self):
        for node in self.each():
            call("ip", "link", "del", self.cable(node), check=False)
            call("ip", "netns", "del", self.space(node), check=False)
            shutil.rmtree(pathlib.Path("/etc/netns", self.space(node)), ignore_errors=True)
        with contextlib.suppress(OSError):
            os.rmdir("/etc/netns")
        call("ip", "link", "del", "farm%d" % self.number, check=False)

    def _remove_groups(self):
        if self.hosts_only or self.proctrack != "cgroup":
            return
        for node in self.each():
            for top in pathlib.Path("/sys/fs/cgroup").glob("**/slurm_node%d" % node):
                for path, _, _ in os.walk(top, topdown=False):
                    with contextlib.suppress(OSError):
                        os.rmdir(path)

    def wipe(self):
        self.down()
        shutil.rmtree(self.directory, ignore_errors=True)
        self.settings = None

    def status(self):
        """A line for each process that should run."""
        if self.settings is None:
            return ["no farm in %s" % self.directory]
        names = [self._node_name(node) for node in self.each()]
        rows = ["farm %d in %s: %d nodes, net %s" % (self.number, self.directory, self.nodes, self.net)]
        rows += ["%s %s" % (name, self._pid(name) or "down") for name in
                 ([] if self.hosts_only else ["munged", "slurmctld"]) + names]
        return rows


def clear_ruins(folder):
    """Wipes the farms below a folder whose owners have ended."""
    for facts in pathlib.Path(folder).glob("*/farm.json"):
        with contextlib.suppress(OSError, ValueError, FarmError):
            farm = Farm(facts.parent)
            if farm.owner and start_ticks(farm.owner) != farm.owner_ticks:
                farm.wipe()


def read_words():
    parser = argparse.ArgumentParser(description="A Slurm cluster of N nodes on one machine (README.md).")
    parser.add_argument("--dir", default=DIRECTORY, help="where all its files are (%(default)s)")
    verbs = parser.add_subparsers(dest="verb", required=True)
    up = verbs.add_parser("up", help="start what does not run")
    up.add_argument("--nodes", type=int, default=3)
    up.add_argument("--net", default="auto", help="netns: each node has a network, processes and an address of its own (root); "
                    "plain: all slurmd on this host; auto (default): netns where it is allowed")
    up.add_argument("--hosts_only", action="store_true", help="no Slurm: hosts with addresses of their own")
    up.add_argument("--cpus", type=int, default=4, help="of each node, whatever this machine has (%(default)s)")
    up.add_argument("--gpus", type=int, default=2, help="of each node, which are not real (%(default)s)")
    up.add_argument("--memory", type=int, default=2000, help="MiB of each node (%(default)s)")
    up.add_argument("--proctrack", default="linuxproc", help="linuxproc, pgid or cgroup")
    up.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a line of slurm.conf instead of ours (KEY=: without it)")
    up.add_argument("--hide", action="append", default=[], metavar="PATH", help="an empty directory in its place on each node (netns)")
    for verb, text in (("down", "stop everything, keep the files"), ("wipe", "down, and remove the files"), ("status", "what runs"),
                       ("env", "print the line to eval: SLURM_CONF"), ("start-ctld", "the controller comes back"),
                       ("crash-ctld", "kill -9 of the controller"), ("stop-ctld", "the controller stops in order")):
        verbs.add_parser(verb, help=text)
    for verb, text in (("start-node", "a node boots"), ("crash-node", "a node loses its power"), ("crash-slurmd", "kill -9 of its slurmd, which is started again"), ("cut-node", "its cable is pulled (netns)"),
                       ("mend-node", "its cable is back")):
        verbs.add_parser(verb, help=text).add_argument("node", type=int)
    on = verbs.add_parser("on", help="run a command as if typed on a node")
    on.add_argument("node", type=int)
    on.add_argument("words", nargs=argparse.REMAINDER)
    return parser.parse_args()


def main():
    words = read_words()
    farm = Farm(words.dir)
    if words.verb == "up":
        begin = time.monotonic()
        farm.up(words.nodes, words.net, words.hosts_only, words.cpus, words.gpus, words.memory, words.proctrack, words.set, words.hide)
        print("%d nodes (%s) are ready after %.1f s; next: eval \"$(%s --dir %s env)\"" % (
            farm.nodes, farm.net, time.monotonic() - begin, sys.argv[0], words.dir))
    elif words.verb in ("down", "wipe"):
        getattr(farm, words.verb)()
    elif words.verb == "status":
        print("\n".join(farm.status()))
    elif words.verb == "env":
        print("export SLURM_CONF=%s" % farm.slurm_conf)
    elif farm.settings is None:
        raise FarmError("there is no farm in %s; next: slurm_farm.py up" % words.dir)
    elif words.verb == "on":
        line = farm.words_on(words.node, words.words)
        os.execvpe(line[0], line, farm.environment)
    else:
        getattr(farm, words.verb.replace("-", "_"))(*([words.node] if "node" in words else []))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FarmError as error:
        sys.exit("slurm_farm: %s" % error)
