"""Jobs on the nodes of a pool: real nodes of this machine, which connect to the sockets of a launcher."""

import json
import os
import pathlib
import signal
import stat
import uuid

from bazel.python import xml_runner
from tests import pool_case


class PoolJobsTest(pool_case.PoolCase):
    def launch(self, script, **spec):
        spec = {"argv": ["/bin/sh", "-c", script], "working_directory": "/tmp", "pool": "lab",
                "environment": ["PATH=/usr/bin:/bin"], **spec}
        return self.call("Launch", spec=spec)["job"]["id"]

    def test_a_job_runs_on_a_node_and_its_output_is_here(self):
        self.node("a", slots=2)
        job = self.launch("echo on $PPID; cat; exit 3")
        ended = self.await_state(job, "failed")
        self.assertEqual(ended["tasks"][0]["node"], "a")
        self.assertEqual(ended["tasks"][0]["attempts"][0]["exit_code"], 3)
        self.assertIn("on ", self.output(job))
        node, = self.call("Nodes", pool="lab")["nodes"]
        self.assertEqual((node["slots"], node.get("slots_used", 0), node.get("tasks", [])), (2, 0, []))
        # It has left nothing there.
        self.await_true(lambda: not list(pathlib.Path(self.directory, "n/a/attempts").iterdir()), "the attempt stays")

    def test_tasks_wait_for_a_slot_of_a_node(self):
        self.node("a", slots=1)
        first = self.launch("sleep 1000")
        self.await_state(first, "running")
        second = self.launch("true")
        waiting = self.await_state(second, "pending")
        self.assertIn("waits for pool lab: worker-0 needs 1 slot; a has 0 of 1 slot free", waiting["reason"])
        refused = self.finish(self.start_yard("call", "launcher", "RemoveNode", '{"name": "a"}'), 6)[1]
        self.assertIn("node a has 1 task: %s/worker-0; next: yard pool drain a" % first, refused)
        self.call("StopJob", job=first)
        self.await_state(second, "done")

    def test_a_pool_that_is_not_there_is_named(self):
        spec = {"argv": ["true"], "working_directory": "/tmp", "pool": "nowhere"}
        why = self.finish(self.start_yard("call", "launcher", "Launch", json.dumps({"spec": spec})), 3)[1]
        self.assertIn("there is no pool nowhere; next: yard pool nowhere --hosts HOST,...", why)

    def test_signal_stop_and_restart(self):
        self.node("a", slots=1)
        job = self.launch("trap 'echo usr1' USR1; trap 'echo term; exit 0' TERM; echo up; while :; do sleep 0.05; done")
        self.await_true(lambda: "up" in self.output(job), "it does not start")
        self.assertEqual(self.call("SignalJob", job=job, signal=int(signal.SIGUSR1))["tasks"], ["worker-0"])
        self.await_true(lambda: "usr1" in self.output(job), "the signal does not come")
        self.call("RestartJob", job=job)
        self.await_true(lambda: len(self.job(job)["tasks"][0]["attempts"]) == 2, "it does not start again")
        self.await_true(lambda: self.output(job).count("up") >= 1, "no output")
        self.call("StopJob", job=job)
        self.assertEqual([one["node"] for one in self.await_state(job, "done")["tasks"][0]["attempts"]], ["a", "a"])

    def test_a_gang_spreads_over_nodes_and_its_tasks_find_each_other(self):
        self.node("a", slots=1)
        self.node("b", slots=1)
        job = self.launch("echo $RANK $LOCAL_RANK $LOCAL_WORLD_SIZE $GROUP_RANK $GROUP_WORLD_SIZE $MASTER_ADDR; echo $TF_CONFIG",
                          groups=[{"type": "worker", "count": 2}], gang=True)
        self.await_state(job, "done")
        out = self.output(job)
        self.assertIn("0 0 1 0 2 127.0.0.1", out)
        self.assertIn("1 0 1 1 2 127.0.0.1", out)
        self.assertEqual({task["node"] for task in self.job(job)["tasks"]}, {"a", "b"})

    def test_a_gang_comes_back_elsewhere_when_a_node_is_lost(self):
        self.node("a", slots=1)
        self.node("b", slots=1)
        job = self.launch("echo attempt $TORCHELASTIC_RESTART_COUNT; exec sleep 1000", groups=[{"type": "worker", "count": 2}],
                          gang=True, restart="OnFailure", max_restarts=3)
        self.await_state(job, "running")
        self.node("c", slots=1)
        lost = [task for task in self.job(job)["tasks"] if task["node"] == "b"][0]
        self.kill_node("b")
        self.await_true(lambda: {task["node"] for task in self.job(job)["tasks"]} == {"a", "c"}
                        and self.job(job)["state"] == "running", lambda: self.job(job))
        first = [task for task in self.job(job)["tasks"] if task["id"] == lost["id"]][0]["attempts"][0]
        self.assertIn("node b has been away for 2s", first["reason"])
        self.assertEqual(self.job(job)["restarts"], 1)
        self.call("StopJob", job=job, grace_ms=100)
        self.await_state(job, "done")

    def test_the_value_of_a_secret_is_in_no_words_and_only_in_files_of_ones_own(self):
        self.node("a", slots=1)
        secret = "word-" + uuid.uuid4().hex
        job = self.launch("echo up; while [ ! -e %s/secret-seen ]; do sleep 0.05; done" % self.directory,
                          environment=["PATH=/usr/bin:/bin", "API_TOKEN=" + secret])
        self.await_true(lambda: "up" in self.output(job), "it does not start")
        for path in pathlib.Path("/proc").glob("[0-9]*/*"):
            if path.name in ("cmdline", "comm"):
                try:
                    self.assertNotIn(secret, path.read_text(errors="replace"), path)
                except OSError:
                    pass  # It has ended.
        there = self.files_with(secret)
        self.assertTrue(any(path.startswith("n/a/") for path in there), there)
        for path, mode in there.items():
            self.assertEqual(mode & 0o077, 0, path)
            self.assertTrue(path.startswith(("n/a/attempts/", "state/launcher.db", "state/jobs/")), path)
        pathlib.Path(self.directory, "secret-seen").touch()
        self.await_state(job, "done")
        self.await_true(lambda: not any(path.startswith("n/") for path in self.files_with(secret)),
                        lambda: self.files_with(secret))

    def files_with(self, text):
        """From the path of each file of the yard and its nodes that has this text to its mode."""
        found = {}
        for path in sorted(pathlib.Path(self.directory).rglob("*")):
            try:
                about = path.lstat()
                if stat.S_ISREG(about.st_mode) and text.encode() in path.read_bytes():
                    found[str(path.relative_to(self.directory))] = about.st_mode
            except OSError:
                pass  # It has been removed meanwhile.
        return found

    def test_a_launcher_that_is_killed_finds_its_tasks_on_their_nodes(self):
        self.node("a", slots=1)
        job = self.launch("echo one; while [ ! -e %s/go ]; do sleep 0.05; done; echo two" % self.directory)
        self.await_true(lambda: "one" in self.output(job), "it does not start")
        pid = self.job(job)["tasks"][0]["attempts"][0]["pid"]
        os.kill(json.loads(self.yard("call", "launcher", "Stats")[0])["pid"], signal.SIGKILL)
        self.yard("up", *self.up_words)
        self.await_true(lambda: self.state("a") == "connected", "the node does not come back")
        pathlib.Path(self.directory, "go").touch()
        ended = self.await_state(job, "done")
        self.assertEqual([one["pid"] for one in ended["tasks"][0]["attempts"]], [pid])
        self.assertEqual([line.split()[-1] for line in self.output(job).splitlines()], ["one", "two"])

    def test_a_node_that_is_drained_gets_nothing_more(self):
        self.node("a", slots=2)
        first = self.launch("sleep 1000")
        self.await_state(first, "running")
        self.call("SetNode", name="a", pool="lab", slots=2, draining=True)
        self.assertEqual(self.state("a"), "draining")
        second = self.launch("true")
        self.assertIn("a takes no tasks now", self.await_state(second, "pending")["reason"])
        self.assertEqual(self.job(first)["state"], "running")
        self.call("SetNode", name="a", pool="lab", slots=2)
        self.await_state(second, "done")
        self.call("StopJob", job=first, grace_ms=100)
        self.await_state(first, "done")


if __name__ == "__main__":
    xml_runner.main()
