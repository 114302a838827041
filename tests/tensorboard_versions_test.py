"""Other versions of the real TensorBoard read by our data server, too."""

import os
import unittest

from bazel.python import xml_runner
from tests import data_server_test

VERSIONS = ("2.8", "2.12", "2.16", "2.20")


class VersionsTest(data_server_test.PeerCase):
    def test_each_reads_by_our_server(self):
        self.write_run("r", [(step, step / 2) for step in range(10)])
        for version in VERSIONS:
            with self.subTest(version):
                self.bin = os.path.join(os.environ["YARD_PEERS"], "tensorboard-" + version, "bin")
                if not os.path.exists(self.bin):
                    what = "TensorBoard %s is not there: tools/peers --long installs it" % version
                    raise AssertionError(what) if os.environ.get("CI") else unittest.SkipTest(what)
                process = self.start_tensorboard()
                self.assertTrue(self.ask("environment")["version"].startswith(version + "."))
                self.assertIn("GrpcDataProvider", self.ask("environment")["debug"]["data_provider"])
                self.await_true(lambda: self.ask("runs") == ["r"], "no run")
                points = self.ask("plugin/scalars/scalars", run="r", tag="loss")
                self.assertEqual([point[1:] for point in points], [[step, step / 2] for step in range(10)])
                process.kill()
                process.wait()


if __name__ == "__main__":
    xml_runner.main()
