"""Test cases with a Slurm farm and a yard on it: pools whose nodes come from real allocations.

sbatch, squeue and scancel of the yard are the real ones, behind scripts that note each call; sacct is a script that only notes, since a
cluster need not have an accounting database.
"""

import json
import pathlib

from tests import yard_case
from tests.slurm import farm_case, slurm_farm

# Programs of a sanitizer need more memory than the farm gives to a processor, and Slurm kills what takes more.
ROOM = "DefMemPerCPU=1000"

WRAPPER = """\
#!/bin/sh
echo "$(date +%s.%N) $*" >> "{calls}/{name}"
{before}
exec /usr/bin/{name} "$@"
"""
NO_SACCT = """\
#!/bin/sh
echo "$*" >> "{calls}/{name}"
echo "sacct: there is none" >&2
exit 1
"""


class SlurmCase(farm_case.FarmCase):
    """`make_pool` makes a pool of Slurm; each test ends with no allocation, and with no process of an attempt on any node."""

    farm_options = {"nodes": 3, "memory": 4000, "lines": [ROOM]}

    @classmethod
    def setUpClass(cls):
        farm_case.needs_slurm()
        super().setUpClass()

    @classmethod
    def before_up(cls):
        super().before_up()
        cls.calls = pathlib.Path(cls.directory, "calls")
        cls.commands = pathlib.Path(cls.directory, "commands")
        for path in (cls.calls, cls.commands):
            path.mkdir()
        for name in ("sbatch", "squeue", "scancel", "scontrol", "sacct"):
            cls.wrap(name)
        cls.environment["PATH"] = "%s:%s" % (cls.commands, cls.environment["PATH"])
        cls.shared = pathlib.Path(cls.directory, "shared")
        cls.shared.mkdir(exist_ok=True)

    @classmethod
    def wrap(cls, name, before=""):
        """The yard's command `name` runs the line `before` first, each time."""
        path = cls.commands / (name + ".new")
        path.write_text((NO_SACCT if name == "sacct" else WRAPPER).format(calls=cls.calls, name=name, before=before))
        path.chmod(0o755)
        path.rename(cls.commands / name)

    def calls_of(self, name):
        path = self.calls / name
        return path.read_text().splitlines() if path.exists() else []

    def make_pool(self, name, *words, nodes=3, slots=2, exit_code=0):
        """Returns the stdout and stderr of `yard pool`."""
        return self.finish(self.start_yard("pool", name, "--engine", "slurm", "--nodes", str(nodes), "--slots", str(slots), "--gate", self.gate,
                                           "--directory", str(self.shared), *words), exit_code)

    def await_nodes(self, pool="lab", count=3):
        def connected():
            return sum(node["pool"] == pool and node["state"] == "connected" for node in self.call("Nodes").get("nodes", [])) == count
        self.await_true(connected, lambda: (self.call("Nodes"), self.queue(), self.keeper_log()))

    def keeper_log(self):
        return self.start_yard("logs", "slurm").communicate(timeout=yard_case.LONG)

    def slurm(self, *words):
        """The output of a command of Slurm."""
        return slurm_farm.call(*words, env=self.farm.environment).stdout

    def queue(self):
        """The live jobs of Slurm: from the name of each to its state and reason."""
        lines = self.slurm("squeue", "-h", "-o", "%j|%T|%r|%i").splitlines()
        return {line.split("|")[0]: line.split("|")[1:] for line in lines}

    def remove_pools(self):
        for path in pathlib.Path(self.directory, "state/slurm").glob("*.json"):
            if not path.name.endswith(".state.json"):
                self.yard("pool", "rm", path.stem, "--force")

    def stop_nodes(self):
        for host in self.farm.each():
            if self.has_namespaces:
                self.mended(host)
        for job in self.call("Jobs", live_only=True).get("jobs", []):
            if job["name"] != "slurm":
                self.start_yard("call", "launcher", "StopJob", json.dumps({"job": job["id"], "grace_ms": 100})).communicate()
        self.remove_pools()
        self.await_true(lambda: not [name for name in self.queue() if name.startswith("y-")], self.queue)
        self.await_true(lambda: not self.left(), self.left)
        super().stop_nodes()

    def left(self):
        """The processes of attempts that are on the nodes."""
        if not self.has_namespaces:
            return []
        return [pid for host in self.farm.each() for pid in self.programs_on(host)]

    def node_processes(self, host, word):
        """The processes of yard-node on a host that have such a word."""
        found = []
        for pid in self.farm.pids_on(host):
            try:
                words = pathlib.Path("/proc/%d/cmdline" % pid).read_bytes().split(b"\0")
            except OSError:
                continue
            is_node = any(one.endswith(b"/yard-node") for one in words) and words[0] != b"srun"
            if is_node and any(one.startswith(word) for one in words):
                found.append(pid)
        return found

    def start_once(self, pool, **more):
        """A job that notes each start, and waits for the file `go`; returns its id and the file with the notes."""
        notes = self.shared / ("starts-" + pool)
        job = self.call("Launch", spec={
            "argv": ["/bin/sh", "-c", "echo start >> %s; while [ ! -e %s/go ]; do sleep 0.05; done" % (notes, self.shared)],
            "working_directory": "/", "environment": ["PATH=/usr/bin:/bin"], "pool": pool, **more})["job"]["id"]
        return job, notes
