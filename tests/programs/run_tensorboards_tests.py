"""Runs a file of TensorBoard's own tests, with its reader or with a data server in place of it.

    run_tensorboards_tests.py SOURCE FILE [SERVER]

SOURCE is a checkout of TensorBoard, FILE a test in it, SERVER a program that TensorBoard may start as its data server.
Prints a JSON object: the state of each case ("passed", "failed", "skipped"), and "why" of what has failed. A test that asks
for TensorBoard's own provider of a log directory gets one that asks the server. (TensorFlow wants a process for each file.)
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tensorboard

PLUGINS = "scalars images audio histograms text pr_curves hparams mesh custom_scalars graphs".split()
# Modules that the tests import, and that an installed TensorBoard lacks.
LACKING = ("tensorboard.test", "tensorboard.util.test_util", "tensorboard.plugins.graph.graphs_plugin_test",
           "tensorboard.plugins.mesh.test_utils", "tensorboard.plugins.pr_curve.pr_curve_demo")


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class LackingModules:
    """Finds them in the checkout."""

    def __init__(self, source):
        self._source = source

    def find_spec(self, name, _path=None, _target=None):
        if name not in LACKING:
            return None
        return importlib.util.spec_from_file_location(name, self._source / (name.replace(".", "/") + ".py"))


def contents(logdir):
    """Changes with anything that is written there."""
    return sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns)
                  for path in pathlib.Path(logdir).rglob("*") if path.is_file())


def use_server(program):
    from tensorboard.backend.event_processing import data_provider
    from tensorboard.data import grpc_provider, server_ingester
    from tensorboard.util import grpc_util

    class Server:
        """A running one that has read all that is in its log directory."""

        def __init__(self, logdir):
            self._directory = tempfile.TemporaryDirectory()
            port_file = os.path.join(self._directory.name, "port")
            self._process = subprocess.Popen(
                [program, "--logdir=" + logdir, "--reload=5", "--port=0", "--port-file=" + port_file, "--die-after-stdin",
                 "--verbose", "--samples-per-plugin=" + ",".join(plugin + "=all" for plugin in PLUGINS)],
                stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            # (As ours says it, and as TensorBoard's does.)
            while not any(words in (line := self._process.stderr.readline()) for words in ("has read", "load cycle")):
                assert line, "the server has ended"
            with open(port_file, encoding="ascii") as file:
                self.address = "localhost:" + file.read().strip()

        def end(self):
            self._process.stdin.close()
            self._process.wait()
            self._process.stderr.close()
            self._directory.cleanup()

    class Provider(grpc_provider.GrpcDataProvider):
        """The tests write their data after they have made it, and reload a multiplexer that nothing is read by: with
        each change of the directory another server is started."""

        def __init__(self, _multiplexer, logdir):
            super().__init__("none", None)
            self._logdir = logdir
            self._server = self._contents = None

        @property
        def _stub(self):
            if (now := contents(self._logdir)) != self._contents:
                if self._server is not None:
                    self._server.end()
                self._contents = now
                self._server = Server(self._logdir)
                self._now = server_ingester._make_stub(self._server.address, grpc_util.ChannelCredsType.LOCAL)
            return self._now

        @_stub.setter
        def _stub(self, stub):
            pass

        def __del__(self):
            if self._server is not None:
                self._server.end()

    data_provider.MultiplexerDataProvider = Provider


class States(unittest.TestResult):
    """The state of each case; a subtest that fails is the case's failure."""

    def __init__(self):
        super().__init__()
        self.states = {}
        self.why = {}

    def startTest(self, test):
        super().startTest(test)
        self.states[test.id()] = "passed"

    def _fail(self, test, error):
        self.states[test.id()] = "failed"
        self.why[test.id()] = self._exc_info_to_string(error, test)

    addError = addFailure = _fail

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self._fail(test, error)

    def addSkip(self, test, reason):
        self.states[test.id()] = "skipped"


def main():
    source, test_file = pathlib.Path(sys.argv[1]), sys.argv[2]
    sys.meta_path.append(LackingModules(source))
    if len(sys.argv) > 3:
        use_server(sys.argv[3])
    from absl import flags
    flags.FLAGS(sys.argv[:1])
    # (The tests print, too.)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    module = load("own_test", source / test_file)
    result = States()
    unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
    json.dump({"states": result.states, "why": result.why}, out)


if __name__ == "__main__":
    main()
