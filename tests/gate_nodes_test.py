"""Nodes that come through the gate: reports over kills, keys that are removed or another node's, and a port that is closed."""

import json
import os
import pathlib
import random
import subprocess

from bazel.python import xml_runner
from tests import pool_case
from tests import yard_case

LONG = yard_case.LONG


class GateNodesCase(pool_case.ReportsCase):

    @classmethod
    def setUpClass(cls):
        cls.port = yard_case.free_port()
        cls.up_words = ("--gate_port", str(cls.port), "--service", "launcher.node_lost_after=2m")
        super().setUpClass()

    def allow(self, name, *words):
        subprocess.run([self.yard_program, "gate", "remove", name], cwd=self.directory, env=self.environment,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        pathlib.Path(self.directory, name + ".yard-key").unlink(missing_ok=True)
        return json.loads(self.yard("gate", "allow", name, "--node", "--json", *words)[0])

    def start_node(self, name, *words, key=None):
        log = pathlib.Path(self.directory, name + ".log")
        log.unlink(missing_ok=True)
        with open(log, "ab") as output:
            self.nodes[name] = subprocess.Popen(
                [pool_case.NODE, "--folder=%s/n/%s" % (self.directory, name), "--key=%s/%s.yard-key" % (self.directory, key or name),
                 "--shim=" + str(pathlib.Path(pool_case.SHIM).absolute()), *words],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def log(self, name):
        return pathlib.Path(self.directory, name + ".log").read_text()

    def await_log(self, name, text):
        self.await_true(lambda: text in self.log(name), lambda: self.log(name))

    def node_through_gate(self, name, **more):
        self.allow(name, "--pool", "lab")
        self.call("SetNode", name=name, pool="lab", **more)
        self.start_node(name)
        self.await_true(lambda: self.state(name) == "connected", lambda: (self.call("Nodes"), self.log(name)))


class GateNodesTest(GateNodesCase):

    def test_a_removed_key_cuts_the_node_and_a_new_one_lets_it_in(self):
        self.node_through_gate("a", slots=4)
        trial = self.run_trial("kept")
        self.await_true(lambda: len(self.noted("kept")) > 3, lambda: self.log("a"))
        self.yard("gate", "remove", "a")
        self.await_true(lambda: self.state("a") != "connected", lambda: self.call("Nodes"))
        self.await_log("a", "does not let in the key a")
        before = len(self.kept("kept"))
        self.allow("a")
        self.await_true(lambda: self.state("a") == "connected", lambda: self.log("a"))
        self.await_true(lambda: len(self.kept("kept")) > before + 3, "no report comes any more")
        pathlib.Path(self.directory, "enough").touch()
        self.assertEqual(self.await_end(trial), "done")
        self.assertEqual(self.noted("kept"), self.kept("kept"))
        self.assertEqual(self.kept("kept"), list(range(1, len(self.kept("kept")) + 1)))

    def test_a_nodes_key_is_of_that_node_alone_and_good_for_no_call(self):
        made = self.allow("b")
        self.assertEqual(made["role"], "node")
        self.assertIn("node", self.yard("gate", "list")[0])
        key = pathlib.Path(self.directory, "b.yard-key")
        self.assertEqual(key.stat().st_mode & 0o777, 0o600)
        stolen = pathlib.Path(self.directory, "stolen.yard-key")
        stolen.write_text(json.dumps({**json.loads(key.read_text()), "name": "a"}))
        stolen.chmod(0o600)
        self.call("SetNode", name="a", pool="lab")
        self.start_node("a", key="stolen")
        self.await_log("a", "the key is that of node b, and not of node a")
        self.assertNotEqual(self.state("a"), "connected")
        asked = subprocess.run([self.yard_program, "runs"], cwd=self.directory, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                               env={**self.environment, "YARD_REGISTRY": "gate:%s" % key}, text=True, timeout=LONG)
        self.assertEqual(asked.returncode, 6, asked.stdout + asked.stderr)
        self.assertIn("the key b is a node's", asked.stderr)
        refused = self.start_yard("gate", "role", "b", "admin")
        self.assertIn("which has no role", self.finish(refused, 6)[1])

    def test_a_key_brings_its_node_into_a_pool(self):
        self.allow("c", "--pool", "queue")
        node = next(node for node in self.call("Nodes")["nodes"] if node["name"] == "c")
        self.assertEqual((node["pool"], node["state"]), ("queue", "away"))
        self.start_node("c")
        self.await_true(lambda: self.state("c") == "connected", lambda: (self.call("Nodes"), self.log("c")))
        self.call("SetNode", name="c", pool="queue", slots=3)
        self.allow("c", "--pool", "queue")
        node = next(node for node in self.call("Nodes")["nodes"] if node["name"] == "c")
        self.assertEqual(node["slots"], 3)
        refused = self.start_yard("gate", "allow", "d", "--pool", "queue")
        self.assertIn("--pool is of", self.finish(refused, 2)[1])

    def test_a_closed_port_is_named_with_all_addresses_that_were_tried(self):
        self.allow("a")
        ports = [yard_case.free_port() for _ in range(2)]
        self.start_node("a", "--gate=" + ",".join("tcp://127.0.0.1:%d" % port for port in ports))
        self.await_log("a", "cannot reach the gate of the yard")
        line = next(line for line in self.log("a").splitlines() if "cannot reach the gate" in line)
        for port in ports:
            self.assertIn("tcp://127.0.0.1:%d" % port, line)

    def test_flags_that_cannot_be_are_refused_at_once(self):
        self.allow("a")
        self.yard("gate", "allow", "alice")
        self.addCleanup(self.yard, "gate", "remove", "alice")
        key = "--key=%s/a.yard-key" % self.directory
        for words, says in ((["--gate=tcp://127.0.0.1:1"], "--key is missing"),
                            ([key, "--gate=127.0.0.1"], "is not tcp://HOST:PORT"),
                            ([key, "--launcher_socket=/tmp/l"], "leave out --launcher_socket"),
                            (["--key=%s/alice.yard-key" % self.directory], "is no key of a node"),
                            (["--key=%s/none.yard-key" % self.directory], "there is no access file")):
            done = subprocess.run([pool_case.NODE, "--folder=%s/n/x" % self.directory, *words], env=self.environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONG, check=False)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(says, done.stderr)
        for words in (["allow", "x", "--node", "--role", "read"], ["allow", "Node_X", "--node"], ["list", "--node"]):
            self.finish(self.start_yard("gate", *words), 2)


class GateNodeKillsTest(GateNodesCase):
    """`GATE_KILLS`: how many times each process is killed."""

    kills = int(os.environ.get("GATE_KILLS", "1"))

    def test_what_may_be_killed_without_a_loss(self):
        seed = random.Random(os.environ.get("YARD_SEED", "7"))
        self.node_through_gate("a", slots=4)
        trial = self.run_trial("one")
        self.await_true(lambda: self.noted("one"), lambda: self.log("a"))
        kills = self.kills * [lambda: self.kill_service("gate"), lambda: self.kill_worker("a"),
                              lambda: self.kill_service("launcher"), lambda: self.kill_service("trainer")]
        seed.shuffle(kills)
        for kill in kills:
            kill()
            # Some are killed again before they are back, others after some reports.
            if self.kills == 1 or seed.random() < 0.5:
                before = len(self.noted("one"))
                self.yard("up")  # (With the launcher dead nobody starts the others.)
                self.await_true(lambda: len(self.noted("one")) > before + seed.randrange(5),
                                lambda: "no report comes any more: " + self.log("a"))
        pathlib.Path(self.directory, "enough").touch()
        self.assertEqual(self.await_end(trial), "done")
        self.assertEqual(self.noted("one"), self.kept("one"))
        self.assertEqual(self.kept("one"), list(range(1, len(self.kept("one")) + 1)))
        ends = [line for line in self.log("a").splitlines() if "its worker has ended" in line]
        self.assertLessEqual(len(ends), self.kills)  # (No worker has ended by itself.)


if __name__ == "__main__":
    xml_runner.main()
