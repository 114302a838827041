"""Trials that ask for resources, memory and limits, with real processes: who gets what, what the others say
meanwhile, and that a killed launcher or trainer changes nothing of it."""

import json
import os
import pathlib
import signal

from bazel.python import xml_runner
from tests import yard_case

# Says which GPUs it has, and ends when it is let go.
HOLDS = 'echo "has $CUDA_VISIBLE_DEVICES ($YARD_RESOURCES)"; exec cat "$0"'


class ResourceCase(yard_case.YardCase):
    def show(self, trial):
        return json.loads(self.yard("show", "--json", trial)[0])

    def await_state(self, trial, state):
        self.await_true(lambda: self.show(trial)["state"] == state, lambda: self.show(trial))

    def await_reason(self, trial, reason):
        self.await_true(lambda: self.show(trial)["reason"] == reason, lambda: self.show(trial))

    def run_detached(self, *words):
        return self.yard("run", "--detach", *words)[0].strip()


class ResourceTrialsTest(ResourceCase):
    up_words = ("--resources", "gpu=0,1", "--resources", "slots=4", "--slots", "4", "--trainer",
                str(pathlib.Path("examples/functions/my_trainer").absolute()))

    def test_a_wait_that_is_too_short_says_so_and_a_cpu_limit_is_told(self):
        held = self.hold("held")
        _, err = self.finish(self.start_yard("wait", "--timeout", "0.1", "held"), 5)
        self.assertEqual(err, "yard wait: %s has not ended within 0.1 s; look with: yard show %s\n" %
                         (held, held))
        self.let_go("held")
        _, err = self.finish(self.start_yard("run", "--limits", "cpu=1", "--", "sh", "-c",
                                             "while :; do :; done"), 1)
        self.assertIn("CPU time limit exceeded", err)

    def hold(self, name, *words):
        """A trial with a GPU until let_go(); its id."""
        fifo = os.path.join(self.directory, name + ".fifo")
        os.mkfifo(fifo)
        return self.run_detached("--name", name, "--resources", "gpu=1", *words, "--", "sh", "-c",
                                 HOLDS, fifo)

    def let_go(self, name):
        with open(os.path.join(self.directory, name + ".fifo"), "w"):
            pass
        self.yard("wait", name)

    def gpu(self, name):
        out = self.yard("logs", name, "--raw")[0]
        self.assertRegex(out, r"^has \d \(gpu=\d\)\n$")
        return out[len("has ")]

    def kill(self, service):
        services = map(json.loads, self.yard("status", "--json")[0].splitlines())
        pids = [one["pid"] for one in services if one.get("service") == service]
        os.kill(pids[0], signal.SIGKILL)

    def test_two_have_a_gpu_each_and_a_third_waits_for_theirs(self):
        first, second = self.hold("first"), self.hold("second")
        self.await_state("first", "running")
        self.await_state("second", "running")
        third = self.hold("third")
        both = "waits for gpu: 2 of 2 are used by %s, %s" % tuple(
            trial for _, trial in sorted([(self.show("first")["job"], first),
                                          (self.show("second")["job"], second)]))
        self.await_reason("third", both)
        self.assertEqual(self.show("third")["state"], "pending")
        self.assertIn(both, self.yard("ps")[0])
        fourth = self.hold("fourth")
        self.await_reason("fourth", "waits for gpu behind " + third)
        # A trial that needs none of these resources does not wait.
        self.yard("run", "--resources", "slots=4", "--", "true")

        for service in ("launcher", "trainer", "launcher"):
            self.kill(service)
            self.await_reason("third", both)
            self.assertEqual(self.show("third")["state"], "pending")

        self.await_true(lambda: "has" in self.yard("logs", "first", "--raw")[0], lambda: "no output")
        self.await_true(lambda: "has" in self.yard("logs", "second", "--raw")[0], lambda: "no output")
        self.assertEqual({self.gpu("first"), self.gpu("second")}, {"0", "1"})
        self.let_go("first")
        self.await_state("third", "running")
        self.let_go("third")
        self.assertEqual(self.gpu("third"), self.gpu("first"))
        self.assertEqual(self.show("third")["attempt"], 1)
        self.yard("stop", "second", "fourth")
        self.assertEqual(self.show("fourth")["state"], "stopped")

    def test_what_can_never_be_had_fails_at_once(self):
        for words, why in ((("gpu=3",), "worker-0 asks for gpu=3, but there is gpu=0,1, slots=4"),
                           (("tpu=1",), "worker-0 asks for tpu=1, but there is gpu=0,1, slots=4")):
            _, err = self.finish(self.start_yard("run", "--max_restarts", "5", "--resources", *words,
                                                 "--", "true"), 1)
            self.assertIn("FAILED: cannot start: " + why, err)
            self.assertIn("attempt   1, after 0 reports", err)
        _, err = self.finish(self.start_yard("run", "--resources", "gpu=0", "--", "true"), 2)
        self.assertIn("--resources", err)

    def test_each_of_a_grid_asks_and_all_come_to_their_turn(self):
        self.yard("run", "--grid", "x=1,2,3,4,5", "--name", "grid-{x}", "--resources", "slots=3",
                  "--limits", "nofile=77", "--", "sh", "-c",
                  '[ "$(ulimit -n)" = 77 ] && mkdir alone && rmdir alone')
        for x in range(1, 6):
            trial = self.show("grid-%d" % x)
            self.assertEqual(trial["state"], "done", trial)
            self.assertEqual(trial["options"]["resources"], {"slots": 3})
        self.assertIn("resources  slots=3\nlimits     nofile=77\n", self.yard("show", "grid-1")[0])

    def test_a_function_asks_too_and_what_goes_on_from_it_asks_for_the_same(self):
        self.yard("run", "--function", "descent", "--name", "down", "--resources", "slots=1",
                  "--processes", "500", "--stop", "step=3", "--config", '{"rate": 0.001}')
        self.yard("run", "--from", "down", "--name", "further", "--stop", "step=5")
        for name in ("down", "further"):
            trial = self.show(name)
            self.assertEqual(trial["state"], "done")
            self.assertEqual((trial["options"]["resources"], trial["options"]["processes"]),
                             ({"slots": 1}, 500))

    def test_an_attempt_that_takes_too_long_has_failed(self):
        fifo = os.path.join(self.directory, "never.fifo")
        os.mkfifo(fifo)
        _, err = self.finish(self.start_yard(
            "run", "--name", "slow", "--max_run_time", "1s", "--max_restarts", "1", "--", "sh", "-c",
            'echo "try $YARD_ATTEMPT" >&2; exec cat "$0"', fifo), 1)
        self.assertIn("FAILED: its time of 1s is over\n  | try 2\n", err)
        failures = pathlib.Path(self.directory, "runs/slow/error.txt").read_text()
        self.assertRegex(failures, r"\nattempt 1: its time of 1s is over\ntry 1\nFailure # 2 .*\n"
                                   r"attempt 2: its time of 1s is over\ntry 2\n$")

    def test_an_attempt_that_gives_no_sign_of_life_has_failed(self):
        fifo = os.path.join(self.directory, "silent.fifo")
        os.mkfifo(fifo)
        _, err = self.finish(self.start_yard(
            "run", "--name", "silent", "--heartbeat", "5s", "--", "sh", "-c",
            'echo waits >&2; exec cat "$0"', fifo), 1)
        self.assertIn("FAILED: no sign of life for 5s\n  | waits\n", err)
        failures = pathlib.Path(self.directory, "runs/silent/error.txt").read_text()
        self.assertRegex(failures, r"\nattempt 1: no sign of life for 5s\nwaits\n$")

    def test_whoever_looks_on_is_told_for_what_it_waits(self):
        first, second = self.hold("one"), self.hold("two")
        self.await_state("one", "running")
        self.await_state("two", "running")
        process = self.start_yard("run", "--name", "looks-on", "--resources", "gpu=1", "--", "true")
        line = next(line for line in process.stderr if "waits for" in line)
        self.assertRegex(line, r"^t-\w+: waits for gpu: 2 of 2 are used by t-\w+, t-\w+\n$")
        self.assertIn(first, line)
        self.assertIn(second, line)
        self.let_go("one")
        self.finish(process)
        self.let_go("two")


class MemoryTest(ResourceCase):
    """Where the launcher can make control groups."""

    def test_a_trial_that_takes_more_memory_than_it_may(self):
        process = self.start_yard("run", "--name", "fat", "--memory", "64MiB", "--", "sh", "-c",
                                  "echo allocating >&2; exec python3 -c "
                                  "'bytearray(256 << 20); raise SystemExit(3)'")
        _, err = self.finish(process, 1)
        self.assertRegex(err, r"FAILED: [^\n]*\n  \| allocating\n")
        if "exit code 3" in err:  # A limit that the machine does not offer cannot be tried, but must be told.
            self.assertIn("its memory could not be limited", err)
            return
        self.assertRegex(err, r"FAILED: out of memory, with a limit of 64MiB for each task "
                              r"\(--memory\): signal 9")
        self.assertIn("memory     64MiB\n", self.yard("show", "fat")[0])


if __name__ == "__main__":
    xml_runner.main()
