"""What an attached `yard run` says while its trial waits."""

import os

from bazel.python import xml_runner
from tests import yard_case


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


if __name__ == "__main__":
    xml_runner.main()
