"""Three hosts with addresses of their own, through the gate and over ssh: gangs that meet, a firewall, a cable, kills, and the loss of power."""

import json
import os
import pathlib
import random
import socket
import time

from bazel.python import xml_runner
from tests import yard_case
from tests.slurm import farm_case

RANKS = farm_case.PROGRAMS + "/ranks.py"


class GangsCase(farm_case.HostsCase):
    """Gangs meet on the nodes of pool lab, however these have come into it."""

    def firewall(self, host, rule):
        """From now on the host may open only the connections of `rule`."""
        self.on_host(host, "nft", "add table inet f; add chain inet f out { type filter hook output priority 0; policy drop; };"
                     "add rule inet f out ct state established accept; add rule inet f out oif lo accept;"
                     + ("add rule inet f out %s" % rule if rule else ""))

    def meets(self, addresses):
        """Three nodes x 2 ranks; `addresses`: from each node to its address."""
        out, err = self.yard("launch", "--at", "lab", "--worker", "6", "--gang", "--", "python3", RANKS)
        rows = self.rank_lines(out)
        self.assertEqual(sorted(rows), list(range(6)), out + err)
        job = json.loads(self.yard("ps", "--json", "--all")[0].splitlines()[-1])["id"]
        where = {int(task.rpartition("-")[2]): node for task, node in self.tasks(job).items()}
        self.assertEqual(sorted(where.values()), sorted(2 * list(addresses)))
        # Each has connected to rank 0 from its own host.
        for row in rows.values():
            self.assertEqual(row["size"], 6)
            self.assertEqual(row["MASTER_ADDR"], addresses[where[0]])
            self.assertEqual(row["LOCAL_WORLD_SIZE"], "2")
            self.assertEqual(row["met"], [[rank, addresses[where[rank]]] for rank in range(1, 6)])
            cluster = json.loads(row["TF_CONFIG"])
            self.assertEqual(cluster["task"], {"type": "worker", "index": row["rank"]})
            self.assertEqual([address.rpartition(":")[0] for address in cluster["cluster"]["worker"]],
                             [addresses[where[rank]] for rank in range(6)])
        self.assertEqual(len({row["host"] for row in rows.values()}), 3)
        for node in addresses:
            self.assertEqual(sorted(rows[rank]["LOCAL_RANK"] for rank in range(6) if where[rank] == node), ["0", "1"])


class GateHostsTest(GangsCase):
    def three_nodes(self):
        for host in self.farm.each():
            self.node("n%d" % host, host)

    @farm_case.needs_namespaces("three nodes x 2 ranks meet, with each node's own address in TF_CONFIG")
    def test_six_ranks_on_three_hosts_meet_through_no_gate(self):
        self.three_nodes()
        self.meets({"n%d" % host: self.farm.address(host) for host in self.farm.each()})

    @farm_case.needs_namespaces("a port is held on the node of its rank")
    def test_a_port_is_held_on_the_host_of_its_rank_alone(self):
        self.three_nodes()
        job = json.loads(self.yard("launch", "--at", "lab", "--worker", "6", "--gang", "--detach", "--json", "--",
                                   "python3", RANKS, "1000")[0])["id"]
        self.await_true(lambda: len(self.rank_lines(self.output(job))) == 6, lambda: self.output(job))
        rows = self.rank_lines(self.output(job))
        ports = [int(address.rpartition(":")[2]) for address in json.loads(rows[0]["TF_CONFIG"])["cluster"]["worker"]]
        bind = "import socket, sys; socket.socket().bind((\"\", int(sys.argv[1])))"
        for rank, port in enumerate(ports):
            host = int(self.tasks(job)["worker-%d" % rank][1:])
            for other in self.farm.each():
                taken = self.on(other, "python3", "-c", bind, str(port), stderr=-3).wait() != 0
                # (Another rank may have the same number on another host.)
                same = any(port == ports[one] and int(self.tasks(job)["worker-%d" % one][1:]) == other for one in range(6))
                self.assertEqual(taken, other == host or same, (rank, other))
            with socket.socket() as here:
                here.bind(("", port))
        self.call("StopJob", job=job, grace_ms=100)
        self.await_state(job, "done", "failed")

    @farm_case.needs_namespaces("nodes that may only connect to the gate's port work")
    def test_hosts_that_may_only_connect_to_the_gate_run_trials(self):
        for host in self.farm.each():
            self.firewall(host, "tcp dport %d accept" % self.port)
        self.three_nodes()
        trial = self.run_trial("walled")
        self.await_true(lambda: len(self.noted("walled")) > 20, lambda: self.log("n1"))
        pathlib.Path(self.directory, "enough").touch()
        self.assertEqual(self.await_end(trial), "done")
        self.assertEqual(self.noted("walled"), self.kept("walled"))



class FaultsTest(GangsCase):
    node_lost_after = "15s"

    @farm_case.needs_namespaces("a closed port is named, with all addresses tried, within a minute")
    def test_a_closed_port_is_named_within_a_minute(self):
        self.firewall(1, "")
        self.make_key("shut", "lab")
        begin = time.monotonic()
        tried = [self.gate, self.gate.replace("10.77.%d.1" % self.farm.number, "10.77.%d.2" % self.farm.number)]
        self.start_node("shut", 1, gates=",".join(tried))
        self.await_true(lambda: "cannot reach the gate of the yard" in self.log("shut"), lambda: self.log("shut"))
        self.assertLess(time.monotonic() - begin, 60)
        line = next(line for line in self.log("shut").splitlines() if "cannot reach the gate" in line)
        for address in tried:
            self.assertIn(address, line)
        self.on_host(1, "nft", "flush", "ruleset")
        self.await_true(lambda: self.state("shut") == "connected", lambda: self.log("shut"))

    @farm_case.needs_namespaces("a cable that is cut for 8 s costs no report and doubles none")
    def test_a_cable_that_is_cut_for_eight_seconds_costs_nothing(self):
        self.node("n1", 1)
        trial = self.run_trial("cut")
        self.await_true(lambda: len(self.noted("cut")) > 20, lambda: self.log("n1"))
        self.farm.cut_node(1)
        begin = time.monotonic()
        self.await_true(lambda: time.monotonic() - begin > 8, "time stands still")
        during = len(self.kept("cut"))
        self.farm.mend_node(1)
        self.await_true(lambda: len(self.noted("cut")) > during + 20, lambda: self.log("n1"))
        pathlib.Path(self.directory, "enough").touch()
        self.assertEqual(self.await_end(trial), "done")
        self.assertEqual(self.noted("cut"), self.kept("cut"))
        self.assertEqual(self.kept("cut"), list(range(1, len(self.kept("cut")) + 1)))
        self.assertEqual(self.trial_of("cut")["attempt"], 1)

    @farm_case.needs_namespaces("a hundred kills of the gate cost no report and double none")
    def test_a_hundred_kills_of_the_gate_cost_nothing(self):
        self.node("n1", 1)
        trial = self.run_trial("gated")
        self.await_true(lambda: self.noted("gated"), lambda: self.log("n1"))
        chance = random.Random(os.environ.get("YARD_SEED", "7"))
        for _ in range(int(os.environ.get("KILLS", "100"))):
            self.kill_service("gate")
            # Some are killed again before they are back, others after some reports.
            if chance.random() < 0.5:
                before = len(self.noted("gated"))
                self.yard("up")  # (At once: the launcher starts what ends again and again later each time.)
                self.await_true(lambda: len(self.noted("gated")) > before + chance.randrange(5), lambda: self.log("n1"))
        pathlib.Path(self.directory, "enough").touch()
        self.assertEqual(self.await_end(trial), "done")
        self.assertEqual(self.noted("gated"), self.kept("gated"))
        self.assertEqual(self.kept("gated"), list(range(1, len(self.kept("gated")) + 1)))
        self.assertEqual(self.trial_of("gated")["attempt"], 1)

    @farm_case.needs_namespaces("a gang whose host loses its power comes back elsewhere from its checkpoint")
    def test_a_gang_comes_back_elsewhere_from_its_checkpoint(self):
        self.node("n1", 1, slots=1)
        self.node("n2", 2, slots=1)
        process = self.start_yard("run", "--at", "lab", "--name", "train", "--worker", "2", "--max_restarts", "1", "--",
                                  "python3", farm_case.PROGRAMS + "/sums.py", "40")
        results = pathlib.Path(self.directory, "runs/train/result.json")
        self.await_true(lambda: results.exists() and len(results.read_text().splitlines()) >= 12, lambda: self.log("n1"))
        first_job = self.job_of("train")
        victim = self.tasks(first_job)["worker-1"]
        self.node("n3", 3, slots=1)
        self.farm.crash_node(int(victim[1:]))
        out, err = self.finish(process)
        rows = [json.loads(line) for line in results.read_text().splitlines()]
        begins = [at for at, row in enumerate(rows) if at == 0 or row["attempt"] != rows[at - 1]["attempt"]]
        self.assertEqual(len(begins), 2, rows)
        first = rows[:begins[1]]
        # It goes on where its last checkpoint was (every fifth step), and no report of an attempt is there twice.
        self.assertEqual([row["step"] for row in rows], [*range(1, len(first) + 1), *range(rows[begins[1]]["step"], 41)])
        self.assertEqual(rows[begins[1]]["step"] % 5, 1)
        self.assertGreater(rows[begins[1]]["step"], 10)
        self.assertEqual(rows[-1]["sum"], sum(2 * step + 1 for step in range(1, 41)), out + err)
        self.assertIn("node %s has been away for" % victim, self.job(first_job)["tasks"][1]["attempts"][0]["reason"])
        self.assertEqual(set(self.tasks(self.job_of("train")).values()), {"n1", "n2", "n3"} - {victim})

    def job_of(self, trial):
        """The job of the newest attempt."""
        return json.loads(self.yard("call", "trainer", "Trials", json.dumps({"trial": trial}))[0])["trials"][0]["job"]


class SshHostsTest(GangsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.has_namespaces:
            cls.serve_ssh()

    def stop_nodes(self):
        if self.has_namespaces:
            self.yard("pool", "rm", "lab", "--force")

    @farm_case.needs_namespaces("three hosts over ssh x 2 ranks meet")
    def test_six_ranks_on_three_hosts_over_ssh_meet(self):
        self.yard("pool", "lab", "--hosts", "host1,host2,host3", "--slots", "2")
        self.meets({"host%d" % host: self.farm.address(host) for host in self.farm.each()})


if __name__ == "__main__":
    xml_runner.main()
