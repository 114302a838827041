"""TensorBoard's own tests of its plugins, unchanged, read by our data server."""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from bazel.python import xml_runner
from tests import provided

SERVER = "datamanager/tensorboard/yard-data-server"
RUNNER = "tests/programs/run_tensorboards_tests.py"
LONG = 300  # Seconds.
# Each file that asks for a provider of a log directory, or whose plugin asks one.
FILES = ["tensorboard/backend/event_processing/data_provider_test.py"] + ["tensorboard/plugins/%s_test.py" % name for name in (
    "audio/audio_plugin", "core/core_plugin", "custom_scalar/custom_scalars_plugin", "debugger_v2/debugger_v2_plugin",
    "distribution/distributions_plugin", "graph/graphs_plugin", "graph/graphs_plugin_v2", "histogram/histograms_plugin",
    "hparams/backend_context", "hparams/list_session_groups", "image/images_plugin", "mesh/mesh_plugin",
    "metrics/metrics_plugin", "pr_curve/pr_curves_plugin", "projector/projector_plugin", "scalar/scalars_plugin",
    "text/text_plugin")]
# They fail with each data server, or with TensorBoard's own reader, too. docs/tensorboard.md has the reasons.
FAIL = {
    "CorePluginTest.testRunsAppendOnly",
    "MultiplexerDataProviderTest.test_list_runs",
    "MultiplexerDataProviderTest.test_read_scalars_but_not_rank_0",
    "ListSessionGroupsTest.test_experiment_from_data_provider_with_metric_values_aggregates",
    "ListSessionGroupsTest.test_no_filter_no_sort",
}
PASS = 294  # With TensorBoard 2.21; 3 more with its own reader.


class OwnTestsTest(unittest.TestCase):
    def setUp(self):
        self.source = provided.folder("TENSORBOARD_SOURCE", "a checkout of github.com/tensorflow/tensorboard")
        peers = os.environ.get("YARD_PEERS")
        if not peers:
            what = "YARD_PEERS is not set: tools/test installs tensorflow and sets it"
            raise AssertionError(what) if os.environ.get("CI") else unittest.SkipTest(what)
        self.python = os.path.join(peers, "tensorflow/bin/python")
        version = re.search(r'VERSION = "(.*)"', pathlib.Path(self.source, "tensorboard/version.py").read_text())[1]
        installed = subprocess.run([self.python, "-c", "from tensorboard import version; print(version.VERSION)"],
                                   text=True, stdout=subprocess.PIPE, timeout=LONG, check=True).stdout.strip()
        self.assertEqual(version, installed, "TENSORBOARD_SOURCE is of another version: git checkout " + installed)

    def run_file(self, name):
        with tempfile.TemporaryDirectory(prefix="yard-", dir="/tmp") as directory:
            environment = {"PATH": "/usr/bin:/bin", "HOME": directory, "TMPDIR": directory, "LANG": "C.UTF-8",
                           "TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}
            done = subprocess.run([self.python, RUNNER, self.source, name, os.path.abspath(SERVER)], env=environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  timeout=LONG, check=False)
        self.assertEqual(done.returncode, 0, name + "\n" + done.stderr)
        return json.loads(done.stdout)

    def test_they_pass_but_those_that_no_server_can_pass(self):
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            results = list(threads.map(self.run_file, FILES))
        states = collections.Counter(state for result in results for state in result["states"].values())
        why = {name.partition(".")[2]: text for result in results for name, text in result["why"].items()}
        print(dict(states))
        unexpected = sorted(set(why) - FAIL)
        self.assertEqual(unexpected, [], "\n".join(why[name] for name in unexpected))
        self.assertEqual(FAIL - set(why), set(), "they pass now")
        self.assertGreaterEqual(states["passed"], PASS)


if __name__ == "__main__":
    xml_runner.main()
