"""Tests of what an attached `yard run` says while its trial waits, and of the provenance that it keeps of the trial."""

import json
import os
import subprocess

from bazel.python import xml_runner
from tests import yard_case

# Has something that another trial can start from.
SAVES = """
echo $YARD_SEED
mkdir $YARD_LOGDIR/saved
echo '{"t":"report","m":{"loss":1},"ckpt":"saved"}' >&3
read reply <&3
"""


class AttachedRunTest(yard_case.YardCase):
    up_words = ("--slots", "1")

    def test_it_says_once_why_its_trial_waits(self):
        fifo = self.directory + "/go"
        os.mkfifo(fifo)
        self.yard("run", "--detach", "--name", "first", "--", "cat", fifo)
        process = self.start_yard("run", "--name", "second", "--", "echo", "it runs")
        self.assertRegex(process.stderr.readline(), r"^t-\w+ second started\n$")
        self.assertRegex(process.stderr.readline(),
                         r"^t-\w+: waits for a slot \(1 of 1 in use\)\n$")
        open(fifo, "w").close()  # The first one reads it to its end.
        out, err = self.finish(process)
        self.assertEqual(out, "it runs\n")
        self.assertNotIn("waits", err)
        self.assertIn(" done in ", err)

    def git(self, *words):
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return subprocess.run(["git", "-C", self.directory + "/work", *who, *words],
                              env=self.environment, check=True, stdout=subprocess.PIPE,
                              text=True).stdout.strip()

    def test_it_keeps_where_its_trial_comes_from(self):
        below = self.directory + "/work/below"
        os.makedirs(below)
        with open(below + "/train.py", "w") as file:
            file.write("rate = 0.1\n")
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "first")
        with open(below + "/train.py", "w") as file:
            file.write("rate = 0.2\n")
        open(below + "/new", "w").close()
        process = self.start("sh", "-c", 'cd work/below && exec "$0" "$@"', self.yard_program, "run",
                             "--name", "known", "--seed", "7", "--label", "a", "--", "sh", "-c", SAVES)
        self.assertEqual(self.finish(process)[0], "7\n")
        run = self.directory + "/runs/known/"
        with open(run + "provenance.json") as file:
            known = json.load(file)
        self.assertEqual(
            (known["working_directory"], known["seed"], known["labels"], known["argv"]),
            (below, 7, ["a"], ["sh", "-c", SAVES]))
        self.assertEqual(known["yard"] + "\n", self.yard("--version")[0])
        git = known["git"]
        self.assertEqual((git["root"], git["commit"], git["dirty"], git["untracked"]),
                         (self.directory + "/work", self.git("rev-parse", "HEAD"), True,
                          ["below/new"]))
        with open(run + "uncommitted.diff") as file:
            diff = file.read()
        self.assertIn("\n-rate = 0.1\n+rate = 0.2\n", diff)
        self.assertEqual(git["diff_bytes"], len(diff))
        # A trial that goes on from it runs in the same directory.
        self.yard("run", "--from", "known", "--name", "cloned")
        with open(self.directory + "/runs/cloned/provenance.json") as file:
            cloned = json.load(file)
        self.assertEqual((cloned["working_directory"], cloned["git"]["commit"]),
                         (below, git["commit"]))


if __name__ == "__main__":
    xml_runner.main()
