"""The queue as a person changes it: priorities, slots, times to begin at, selections of trials, names that are taken."""

import json
import os
import signal

from bazel.python import xml_runner
from tests import yard_case

# Reports, and goes on until it is stopped.
GOES_ON = ("sh", "-c", """echo '{"t":"report","m":{"loss":1}}' >&3; read -r ok <&3; exec sleep 1000000""")


class QueueTest(yard_case.YardCase):
    up_words = ("--slots", "1")

    def tearDown(self):
        self.finish(self.start_yard("stop", "--grace", "1", "!state:done", "--timeout", "60"), 0 if self.live() else 3)
        self.yard("set", "--slots", "1")

    def trials(self):
        return {trial["name"]: trial for trial in map(json.loads, self.yard("ps", "-a", "--json")[0].splitlines())}

    def live(self):
        return [name for name, trial in self.trials().items() if trial["state"] in ("pending", "running", "stopping", "paused")]

    def begin(self, name, *words):
        return json.loads(self.yard("run", "--detach", "--json", "--name", name, *words, "--", *GOES_ON)[0])

    def await_state(self, name, state):
        self.await_true(lambda: self.trials()[name]["state"] == state, lambda: "%s: %s" % (name, self.trials()[name]))

    def test_priority_and_slots(self):
        for name in ("p-first", "p-second", "p-third"):
            self.begin(name)
        self.await_state("p-first", "running")
        self.assertIn("priority 5", self.yard("set", "p-third", "--priority", "5")[0])
        self.assertIn("1 before it", self.trials()["p-second"]["reason"])
        self.assertEqual(self.yard("set", "--slots", "2")[0], "2 slots (before: 1)\n")
        self.await_state("p-third", "running")
        self.assertEqual(self.trials()["p-second"]["state"], "pending")
        # A trainer that is started anew keeps both.
        services = map(json.loads, self.yard("status", "--json")[0].splitlines())
        os.kill(next(one["pid"] for one in services if one.get("service") == "trainer"), signal.SIGKILL)
        self.assertIn("2 of 2 in use", self.trials()["p-second"]["reason"])
        self.assertEqual(self.trials()["p-third"]["priority"], 5)
        self.yard("stop", "--grace", "1", "p-first")
        self.await_state("p-second", "running")

    def test_wrong_settings_change_nothing(self):
        self.assertIn("what is to be set?", self.finish(self.start_yard("set"), 2)[1])
        self.assertIn("no number from 0", self.finish(self.start_yard("set", "--slots", "many"), 2)[1])
        self.begin("w-one")
        self.assertIn("expected a whole number", self.finish(self.start_yard("set", "w-one", "--priority", "high"), 2)[1])
        self.yard("stop", "--grace", "1", "w-one")
        self.assertIn("cannot set the priority", self.finish(self.start_yard("set", "w-one", "--priority", "1"), 6)[1])

    def test_not_before(self):
        self.begin("n-later", "--not_before", "6s")
        self.assertRegex(self.trials()["n-later"]["reason"], "begins at 20")
        self.begin("n-now")
        self.await_state("n-now", "running")
        self.yard("stop", "--grace", "1", "n-now")
        self.await_state("n-later", "running")
        self.assertIn("--not_before: expected", self.finish(self.start_yard("run", "--not_before", "noon", "--", "true"), 2)[1])

    def test_selections(self):
        self.yard("set", "--slots", "3")
        for name, label in (("s-a", "night"), ("s-b", "night"), ("s-c", "day=1")):
            self.begin(name, "--label", label)
        for name in ("s-a", "s-b", "s-c"):
            self.await_state(name, "running")
        self.assertIn("s-a", self.trials())
        self.assertEqual(self.yard("pause", "label:night & !name:s-b")[0].count("paused"), 1)
        self.await_state("s-a", "paused")
        self.yard("resume", "state:paused")
        self.await_state("s-a", "running")
        self.yard("set", "label:night", "--label", "+kept")
        self.assertEqual(self.trials()["s-b"]["labels"], ["night", "kept"])
        self.assertEqual(self.yard("stop", "--grace", "1", "label:night")[0].count("stopped"), 2)
        self.assertEqual(self.trials()["s-c"]["state"], "running")
        self.assertEqual(self.yard("wait", "label:night")[0].count("stopped"), 2)
        self.yard("stop", "--grace", "1", "label:day=1")
        error = self.finish(self.start_yard("stop", "label:night"), 3)[1]
        self.assertIn("label:night selects no trial that has not ended", error)
        self.assertIn("did you mean running?", self.finish(self.start_yard("stop", "state:runing"), 2)[1])

    def test_the_same_name_again(self):
        self.assertEqual(self.begin("again")["name"], "again")
        self.assertIn("--again", self.finish(self.start_yard("run", "--detach", "--name", "again", "--", "true"), 6)[1])
        self.assertEqual(self.begin("again", "--again")["name"], "again.2")
        self.assertEqual(self.begin("again", "--again")["name"], "again.3")


if __name__ == "__main__":
    xml_runner.main()
