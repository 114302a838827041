"""Plain ZeroMQ sockets in Python against a real registry."""

import os
import shutil
import subprocess
import tempfile
import unittest

from bazel.python import xml_runner

FLATC = "/usr/bin/flatc"
SCHEMAS = ["common", "envelope", "registry", "launcher", "trainer", "datamanager"]
HERE = "examples/pyzmq"


class PyzmqTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="py-", dir="/tmp")
        subprocess.run([FLATC, "--python", "-I", ".", "-o", self.directory] +
                       ["bus/schema/%s.fbs" % name for name in SCHEMAS], check=True)
        self.env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": self.directory,
                    "XDG_RUNTIME_DIR": self.directory, "YARD_STATE": self.directory + "/state"}
        self.registry = subprocess.Popen([os.environ["REGISTRY"]], env=self.env,
                                         stderr=subprocess.PIPE, text=True)
        for line in self.registry.stderr:
            if "registry ready in" in line:
                break

    def tearDown(self):
        self.registry.terminate()
        self.registry.wait(20)
        self.registry.stderr.close()
        shutil.rmtree(self.directory)

    def address(self, name):
        return "ipc://%s/yard/%s" % (self.directory, name)

    def services(self):
        return subprocess.run(["/usr/bin/python3", HERE + "/services.py", self.address("registry")],
                              env=self.env, capture_output=True, text=True, timeout=30, check=True).stdout

    def test_a_req_socket_lists_the_services(self):
        self.assertEqual(self.services(), "registry %s\n" % self.address("registry"))

    def test_a_sub_socket_hears_the_hub(self):
        listener = subprocess.Popen(
            ["/usr/bin/python3", HERE + "/listen.py", self.address("hub-sub"), "$hello/"],
            env=self.env, stdout=subprocess.PIPE, text=True)
        try:
            self.assertRegex(listener.stdout.readline(), r"^\$hello/ \d+")
        finally:
            listener.kill()
            listener.wait(20)
            listener.stdout.close()


if __name__ == "__main__":
    xml_runner.main()
