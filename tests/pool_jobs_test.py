"""Jobs on the nodes of a pool: real nodes of this machine, which connect to the sockets of a launcher."""

import json
import os
import pathlib
import signal
import socket
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

    def test_what_a_task_on_a_node_uses_is_measured_there(self):
        self.node("a", slots=2)
        job = self.launch("x=$(head -c 30000000 /dev/zero | tr '\\0' x); echo up; while :; do :; done")
        here = self.launch("echo up; sleep 1000", pool="")
        self.await_true(lambda: "up" in self.output(job) and "up" in self.output(here), lambda: self.job(job))

        def use():
            tasks = {task["task"]: task for task in self.call("Usage").get("tasks", [])}
            return tasks.get(job + "/worker-0")
        self.await_true(lambda: (use() or {}).get("cpu_us", 0) > 500000, use)
        self.assertGreater(use()["rss_bytes"], 25000000)
        self.assertEqual((use()["attempt"], use()["processes"]), (1, 1))
        self.assertEqual([task["task"] for task in self.call("Usage", job=job)["tasks"]], [job + "/worker-0"])
        self.assertEqual(len(self.call("Usage")["tasks"]), 2)
        row, = [line for line in self.yard("top", "--once")[0].splitlines() if job in line]
        self.assertRegex(row, r" \d+% +\d\d\.\d MB")
        # A node that does not answer holds up nobody for long, and the others are measured.
        worker, = [pid for pid in self.processes_of("a")
                   if b"--worker=" in pathlib.Path("/proc/%d/cmdline" % pid).read_bytes()]
        os.kill(worker, signal.SIGSTOP)
        try:
            for _ in range(2):
                self.await_true(lambda: [task["task"] for task in self.call("Usage")["tasks"]] == [here + "/worker-0"],
                                lambda: self.call("Usage"))
        finally:
            os.kill(worker, signal.SIGCONT)
        self.await_true(use, lambda: self.call("Usage"))

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

    def test_a_verb_refuses_a_pool_that_is_not_there_before_it_makes_anything(self):
        self.node("a", slots=1)
        runs, work = pathlib.Path(self.directory, "runs"), pathlib.Path(self.directory, "state/work")
        code = pathlib.Path(self.directory, "code")
        code.mkdir()
        (code / "train.py").write_text("print(1)\n")
        sweep = pathlib.Path(self.directory, "sweep.yaml")
        sweep.write_text("program: code/train.py\nmethod: random\nmetric: {name: loss, goal: minimize}\nrun_cap: 1\n"
                         "parameters: {x: {min: 0.0, max: 1.0}}\n")

        def left():
            return sorted(map(str, runs.rglob("*"))), sorted(map(str, work.rglob("*"))), self.yard("ps", "--json", "--all")[0]
        before = left()
        for words in (("run", "--at", "lba", "--sync", "code", "--", "true"), ("launch", "--at", "lba", "--sync", "code", "--", "true"),
                      ("sweep", str(sweep), "--at", "lba", "--sync", "code")):
            why = self.finish(self.start_yard(*words), 3)[1]
            self.assertIn("there is no pool lba; did you mean lab? The pools are lab; next: --at lab, or "
                          "yard pool lba --hosts HOST,HOST", why)
        self.assertEqual(left(), before)

    def test_a_heartbeat_and_a_program_are_looked_at_on_the_node(self):
        self.node("a", slots=4)
        often = {"period_ms": 200, "timeout_ms": 5000, "failures": 2}
        beats = self.launch("while :; do touch $YARD_HEARTBEAT; sleep 0.02; done", liveness={"heartbeat": True, **often})
        hangs = self.launch("echo up; exec sleep 1000", liveness={"heartbeat": True, **often})
        # The program of a probe runs where the task runs, with its environment.
        here = str(pathlib.Path(self.directory, "probe-of"))
        looks = self.launch("echo up; exec sleep 1000", environment=["PATH=/usr/bin:/bin", "GOOD=yes"],
                            liveness={"argv": ["sh", "-c", 'echo "$GOOD" $PPID > %s; test ! -e %s.bad' % (here, here)], **often})
        ended = self.await_state(hangs, "failed")
        self.assertIn("its liveness probe (heartbeat) has failed 2 times in a row: no heartbeat since the last look",
                      ended["tasks"][0]["attempts"][0]["reason"])
        self.assertEqual(ended["tasks"][0]["node"], "a")
        self.assertEqual(self.job(beats)["state"], "running")
        self.assertEqual(self.job(looks)["tasks"][0].get("probe", ""), "")
        said, parent = pathlib.Path(here).read_text().split()
        self.assertEqual(said, "yes")
        self.assertIn(int(parent), self.processes_of("a"))
        # Its worker is killed: the next one goes on looking.
        worker = int(parent)
        os.kill(worker, signal.SIGKILL)
        self.await_true(lambda: pathlib.Path(here).read_text().split()[1:] not in ([], [parent]), "nobody looks any more")
        pathlib.Path(here + ".bad").touch()
        self.assertIn("has failed 2 times in a row: exit code 1",
                      self.await_state(looks, "failed")["tasks"][0]["attempts"][0]["reason"])
        self.assertEqual(self.job(beats)["state"], "running")
        self.call("StopJob", job=beats, grace_ms=100)
        self.await_state(beats, "done", "failed")

    def test_a_trial_that_has_ended_still_says_where_it_ran(self):
        self.node("a", slots=1)
        one = json.loads(self.yard("run", "--at", "lab", "--json", "--", "true")[0].splitlines()[-1])["id"]
        self.assertRegex(self.yard("show", one)[0], r"\nhost +a, of pool lab\n")
        self.assertEqual(json.loads(self.yard("show", one, "--json")[0])["node"], "a")
        self.node("b", slots=1)
        two = json.loads(self.yard("run", "--at", "lab", "--worker", "2", "--json", "--", "true")[0].splitlines()[-1])["id"]
        self.assertRegex(self.yard("show", two)[0], r"\nhost +nodes (a, b|b, a) of pool lab\n")

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

    @staticmethod
    def is_free(address):
        host, _, port = address.rpartition(":")
        with socket.socket() as one:
            try:
                one.bind((host, int(port)))
            except OSError:
                return False
        return True

    def test_ports_of_tasks_are_held_on_their_nodes(self):
        self.node("a", slots=1)
        self.node("b", 2, slots=1)
        job = self.launch("echo $MASTER_ADDR:$MASTER_PORT; exec sleep 1000", groups=[{"type": "worker", "count": 2}], gang=True)
        self.await_state(job, "running")
        self.await_true(lambda: self.output(job).count(":") >= 4, lambda: self.output(job))
        addresses = [task["address"] for task in self.job(job)["tasks"]]
        self.assertEqual({address.partition(":")[0] for address in addresses}, {"127.0.0.1", "127.0.0.2"})
        master = self.output(job).split()[-1]
        self.assertEqual(len({*addresses, master}), 3)
        self.assertEqual(master.partition(":")[0], addresses[0].partition(":")[0])
        addresses.append(master)
        self.assertEqual([self.is_free(address) for address in addresses], [False] * 3)
        # They do not depend on the launcher.
        pid = json.loads(self.yard("call", "launcher", "Stats")[0])["pid"]
        os.kill(pid, signal.SIGKILL)
        self.await_true(lambda: not pathlib.Path("/proc/%d/fd" % pid).exists(), "the launcher does not end")
        self.assertEqual([self.is_free(address) for address in addresses], [False] * 3)
        self.yard("up", *self.up_words)
        self.await_true(lambda: self.state("a") == self.state("b") == "connected", "the nodes do not come back")
        self.assertEqual([task["address"] for task in self.job(job)["tasks"]], addresses[:2])
        self.assertEqual([self.is_free(address) for address in addresses], [False] * 3)
        self.call("StopJob", job=job, grace_ms=100)
        self.await_state(job, "done", "failed")
        self.await_true(lambda: all(map(self.is_free, addresses)), "the ports are held for ever")

    def test_a_program_that_binds_its_port_alone_gets_it(self):
        self.node("a", slots=2)
        bind = "import os, socket; socket.socket().bind(('', int(os.environ['MASTER_PORT']))); print('bound')"
        script = "test $RANK != 0 || exec python3 -c \"%s\"" % bind
        held = self.launch(script, groups=[{"type": "worker", "count": 2}])
        self.assertNotIn("bound", (self.await_state(held, "failed"), self.output(held))[1])
        alone = self.launch(script, groups=[{"type": "worker", "count": 2}], release_ports=True)
        self.await_state(alone, "done")
        self.assertIn("bound", self.output(alone))

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
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            for name in ("cmdline", "comm"):
                try:
                    self.assertNotIn(secret, (process / name).read_text(errors="replace"), process)
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
        # A task that starts again finds another node, or waits for one.
        self.call("RestartJob", job=first, grace_ms=100)
        self.await_state(first, "pending")
        self.call("SetNode", name="a", pool="lab", slots=2)
        self.await_state(second, "done")
        self.await_state(first, "running")
        self.call("StopJob", job=first, grace_ms=100)
        self.await_state(first, "done")


if __name__ == "__main__":
    xml_runner.main()
