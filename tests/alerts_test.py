"""A person who looks away hears of what happens: each alert once, whoever is killed."""

import collections
import json
import os
import pathlib
import random
import signal
import subprocess
import unittest

from bazel.python import xml_runner
from tests import yard_case

# Appends the alert, which is one line, to a file.
TELLS = 'cat >> "$HOME/told"'
REPORT = """report() { echo '{"t":"report","m":{'"$1"'}}' >&3; read -r answer <&3; };"""
# Reports six times within a moment, and then no more.
STALLS = REPORT + "for i in 1 2 3 4 5 6; do report '\"loss\":1'; done; exec sleep 1000000"
# Takes the place of NVIDIA's library: the file `gpus` says how many there are.
NVML = r"""
#include <stdio.h>
#include <stdlib.h>
static unsigned count(void) {
  char path[4096]; unsigned n = 0;
  snprintf(path, sizeof path, "%s/gpus", getenv("HOME"));
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%u", &n) != 1) n = 0;
  fclose(file);
  return n;
}
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned* n) { *n = count(); return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) { *device = (void*)(unsigned long)(index + 1); return 0; }
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) { snprintf(text, size, "GPU-%lu", (unsigned long)device); return 0; }
int nvmlDeviceGetName(void* device, char* text, unsigned size) { (void)device; snprintf(text, size, "H100"); return 0; }
"""


class AlertsCase(yard_case.YardCase):
    """`launcher` and `trainer` are flags of these services."""

    launcher = ()
    trainer = ()

    @classmethod
    def _services(cls, *words):
        # (`yard up` takes flags that it has no option for from the file that it writes.)
        if words[0] == "up":
            state = pathlib.Path(cls.environment["YARD_STATE"])
            state.mkdir(mode=0o700)
            (state / "wanted").write_text(json.dumps({"logdir": cls.directory + "/runs", "flags": {
                "launcher": ["notify=" + TELLS, *cls.launcher], "trainer": list(cls.trainer)}}))
            cls.prepare()
        super()._services(*words)

    @classmethod
    def prepare(cls):
        """Before the yard is up."""

    def told(self):
        """The alerts that the command has read, oldest first."""
        path = pathlib.Path(self.directory, "told")
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def await_told(self, kind, name):
        found = []
        def is_told():
            found[:] = [alert for alert in self.told() if (alert["kind"], alert["name"]) == (kind, name)]
            return found
        self.await_true(is_told, lambda: "no alert %s of %s among %s" % (kind, name, self.told()))
        return found[0]

    def alerts(self, *words):
        return [json.loads(line) for line in self.yard("alerts", "--json", "-n", "1000", *words)[0].splitlines()]

    def pid(self, service):
        rows = [json.loads(line) for line in self.yard("status", "--json")[0].splitlines()]
        return next(row["pid"] for row in rows if row.get("service") == service)

    def run_trial(self, name, script, *words):
        self.yard("run", "--detach", "--name", name, *words, "--", "sh", "-c", script)


class EachKindTest(AlertsCase):
    launcher = ("disk_floor=100000TiB",)
    trainer = ("stall_floor=1s", "alerts=acc<0.5")

    @classmethod
    def prepare(cls):
        home = pathlib.Path(cls.directory)
        (home / "nvml.c").write_text(NVML)
        (home / "gpus").write_text("2")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(home / "libnvidia-ml.so.1"), str(home / "nvml.c")], check=True, timeout=60)
        cls.environment["LD_LIBRARY_PATH"] = cls.directory

    def test_each_kind_is_told_once(self):
        self.run_trial("good", "true")
        self.run_trial("bad", "echo the reason >&2; exit 3")
        self.run_trial("numbers", REPORT + "report '\"loss\":NaN'; report '\"loss\":NaN,\"acc\":0.25'; report '\"acc\":0.1'; exec sleep 1000000",
                       "--alert", "loss>10")
        self.run_trial("stalls", STALLS)
        bad = self.await_told("trial_failed", "bad")
        self.assertIn("exit code 3", bad["reason"])
        self.assertEqual(bad["lines"], ["the reason"])
        self.assertEqual(bad["next"][0], "yard show " + bad["trial"])
        self.assertEqual(self.await_told("metric_not_finite", "numbers")["metric"], "loss")
        self.assertIn("acc<0.5", self.await_told("metric_threshold", "numbers")["reason"])
        stalls = self.await_told("trial_stalled", "stalls")
        self.assertIn("median of its steps", stalls["reason"])
        self.assertIn("sleep", "\n".join(stalls["lines"]), "where its processes are")
        self.await_told("disk_low", self.directory + "/runs")
        victim = self.pid("datamanager")
        os.kill(victim, signal.SIGKILL)
        self.assertIn("signal 9", self.await_told("service_restarted", "datamanager")["reason"])
        self.await_true(lambda: "GPU-2" in self.yard("call", "launcher", "Usage", "{}")[0], "the GPUs are not seen")
        pathlib.Path(self.directory, "gpus").write_text("1")
        self.assertIn("GPU-2", self.await_told("gpu_lost", "GPU 1")["reason"])
        ids = [alert["id"] for alert in self.told()]
        self.assertEqual(len(ids), len(set(ids)), "each once")
        kinds = collections.Counter(alert["kind"] for alert in self.alerts() if alert["name"] != "heard")
        self.assertEqual(kinds, {"trial_ended": 1, "trial_failed": 1, "metric_not_finite": 1, "metric_threshold": 1, "trial_stalled": 1,
                                 "disk_low": 1, "service_restarted": 1, "gpu_lost": 1})
        self.assertNotIn("trial_ended", {alert["kind"] for alert in self.told()})
        self.assertIn("notify-" + bad["id"], self.yard("ps", "-a")[0], "the command is a job, whose output can be read")
        self.yard("stop", "numbers")
        self.yard("stop", "stalls")

    def test_a_subscriber_hears_of_alerts_and_of_earlier_ones(self):
        self.run_trial("heard", "exit 1")
        out, _ = self.yard("sub", "a/trial_failed/heard/", "--since", "1h", "-n", "1", "--timeout", "100", "--json")
        self.assertIn("trial_failed", out)
        out, err = self.finish(self.start_yard("pub", "a/trial_failed/x/", "{}"), exit_code=6)
        self.assertIn("other topics have owners", out + err)


class SeenTest(AlertsCase):
    def unseen(self):
        return [thing["name"] for thing in map(json.loads, self.yard("ps", "-a", "--json")[0].splitlines()) if thing.get("unseen")]

    def await_failed(self, name):
        self.run_trial(name, "exit 1")
        self.await_told("trial_failed", name)

    def test_failures_come_first_until_somebody_looks(self):
        for name in ("one", "two", "three", "four"):
            self.await_failed(name)
        self.run_trial("later", "true")
        self.assertEqual(self.unseen(), ["one", "two", "three", "four"])
        rows = self.yard("ps")[0].splitlines()
        self.assertEqual([row.split()[1] for row in rows[1:5]], ["one", "two", "three", "four"])
        self.yard("show", "two")
        self.assertEqual(self.unseen(), ["one", "three", "four"])
        self.yard("resume", "three")
        self.await_true(lambda: len(self.told()) == 5, "it has failed again")
        alerts = {alert["name"]: alert for alert in reversed(self.alerts()) if alert["kind"] == "trial_failed"}
        self.assertEqual(self.yard("alerts", "--ack", alerts["one"]["id"])[0], "1 alert acknowledged\n")
        self.assertEqual(self.unseen(), ["three", "four"])
        self.assertEqual(self.yard("alerts", "--ack", alerts["four"]["trial"])[0], "1 alert acknowledged\n")
        self.yard("alerts", "--ack", "all")
        self.assertEqual(self.unseen(), [])
        self.assertNotIn("not seen", self.yard("alerts")[0])
        out, err = self.finish(self.start_yard("alerts", "--ack", "a-nothere"), exit_code=3)
        self.assertIn("there is no alert a-nothere", out + err)

    def test_on_end_runs_once_with_the_trial(self):
        command = 'cat >> "$HOME/ended"; echo "$YARD_TRIAL $YARD_TRIAL_STATE" >> "$HOME/ended"; echo said'
        self.run_trial("ends", REPORT + "report '\"loss\":2.5'; exit 4", "--on_end", command)
        path = pathlib.Path(self.directory, "ended")
        self.await_true(lambda: path.exists() and len(path.read_text().splitlines()) == 2, "on_end has not run")
        trial, words = path.read_text().splitlines()
        trial = json.loads(trial)
        self.assertEqual((trial["name"], trial["state"], trial["metrics"]["loss"]), ("ends", "failed", 2.5))
        self.assertEqual(words, trial["id"] + " failed")
        self.await_true(lambda: "said" in self.yard("logs", "on_end-%s-1" % trial["id"])[0], "its output is not there")

    def test_hostile_names_and_words_are_told_as_they_are(self):
        name = "$(touch owned) `touch owned` \"; touch owned; ' \\ \u202e%s"
        line = "$(touch owned) </script><script> \\u202e"
        self.run_trial(name, "printf '%s\\n' '" + line + "' >&2; exit 1")
        told = self.await_told("trial_failed", name)
        self.assertEqual(told["lines"], [line])
        self.assertFalse(pathlib.Path(self.directory, "owned").exists())
        self.assertFalse(pathlib.Path(self.directory, "state/owned").exists())
        self.assertNotIn("\x1b", self.yard("alerts")[0])

    def test_what_comes_is_followed(self):
        follower = self.start_yard("alerts", "-f", "--json")
        self.addCleanup(follower.kill)
        # (Its list ends with what was there.)
        self.run_trial("followed", "exit 1")
        while True:
            line = follower.stdout.readline()
            self.assertNotEqual(line, "", "it has ended")
            if json.loads(line)["name"] == "followed":
                break
        follower.send_signal(signal.SIGINT)
        self.finish(follower)


class KillsTest(AlertsCase):
    """Trials fail while services are killed: each alert is told once, and each command at an end runs once."""

    launcher = ("notify_most=1000000",)
    kills, trials = 8, 24

    def test_each_alert_once(self):
        chance = random.Random(7)
        for number in range(self.trials):
            self.run_trial("f%d" % number, REPORT + "report '\"loss\":NaN'; exit 1", "--on_end", 'echo "$YARD_TRIAL_NAME" >> "$HOME/ends"')
            if number * self.kills // self.trials != (number + 1) * self.kills // self.trials:
                victim = chance.choice(("trainer", "launcher", "registry", "datamanager", "trainer", "launcher"))
                os.kill(self.pid(victim), signal.SIGKILL)
        names = {"f%d" % number for number in range(self.trials)}
        def all_told():
            """Alerts that waited together, as while the launcher was dead, are told in one message."""
            return [alert for message in self.told() for alert in [message, *message["others"]]]
        def told(kind):
            return collections.Counter(alert["name"] for alert in all_told() if alert["kind"] == kind)
        def is_done():
            self.yard("status")  # (The launcher may be the one that is dead.)
            return set(told("trial_failed")) == names and set(told("metric_not_finite")) == names
        self.await_true(is_done, lambda: "not told of: %s\n%s\n%s" % (
            [(kind, name) for kind in ("trial_failed", "metric_not_finite") for name in names - set(told(kind))],
            self.told(), self.alerts()))
        ends = pathlib.Path(self.directory, "ends")
        self.await_true(lambda: ends.exists() and len(ends.read_text().split()) >= self.trials, "commands are missing")
        self.assertEqual(set(told("trial_failed").values()), {1})
        self.assertEqual(set(told("metric_not_finite").values()), {1})
        self.assertEqual(sorted(ends.read_text().split()), sorted(names))
        ids = [alert["id"] for alert in all_told()]
        self.assertEqual(len(ids), len(set(ids)))
        listed = collections.Counter(alert["name"] for alert in self.alerts() if alert["kind"] == "trial_failed")
        self.assertEqual(listed, {name: 1 for name in names})


class ManyKillsTest(KillsTest):
    kills, trials = 40, 80


if __name__ == "__main__":
    xml_runner.main()
