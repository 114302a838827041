"""Plain ZeroMQ sockets in Python against a real registry."""

import os
import select
import shutil
import subprocess
import tempfile
import unittest

import zmq
from bazel.python import xml_runner

FLATC = "/usr/bin/flatc"
SCHEMAS = ["common", "envelope", "registry", "launcher", "trainer", "datamanager"]
HERE = "examples/pyzmq"
MAX_LINES = 15

# One event, with services.py's means.
PUBLISH = """
import sys, flatbuffers, zmq
from msg import Body, Envelope, Kind, PublishRequest
request = Envelope.EnvelopeT()
request.kind, request.method = Kind.Kind.Request, "Publish"
request.bodyType, request.body = Body.Body.PublishRequest, PublishRequest.PublishRequestT()
request.body.topic, request.body.payload = "e/hello/", b"from Python"
b = flatbuffers.Builder()
b.Finish(request.Pack(b), file_identifier=b"YBE1")
socket = zmq.Context().socket(zmq.REQ)
socket.connect(sys.argv[1])
socket.send(b.Output())
print(Envelope.EnvelopeT.InitFromObj(Envelope.Envelope.GetRootAs(socket.recv())).body.subscribers)
"""


# An event, the tail behind it, and the next event.
FRAMES = """
import sys, flatbuffers
from msg import Envelope, Head, Kind
for seq, kind, payload in ((1, Kind.Kind.Event, b"payload 1"), (1, Kind.Kind.Tail, None), (2, Kind.Kind.Event, b"payload 2")):
    event = Envelope.EnvelopeT()
    event.kind, event.payload, event.head = kind, payload, Head.HeadT()
    event.head.seq = seq
    b = flatbuffers.Builder()
    b.Finish(event.Pack(b), file_identifier=b"YBE1")
    sys.stdout.buffer.write(bytes(b.Output()) + (b"|||" if seq == 1 else b""))
"""


class PyzmqTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="py-", dir="/tmp")
        subprocess.run([FLATC, "--python", "--gen-object-api", "-I", ".", "-o", self.directory] +
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

    def run_python(self, *argv):
        return subprocess.run(["/usr/bin/python3", *argv], env=self.env, capture_output=True,
                              text=True, timeout=30, check=True).stdout

    def test_each_program_is_short(self):
        for name in ("services.py", "listen.py"):
            with open(os.path.join(HERE, name), encoding="utf-8") as file:
                lines = [line for line in map(str.strip, file) if line and line[0] not in "#\""]
            self.assertGreater(len(lines), 5)
            self.assertLessEqual(len(lines), MAX_LINES, name)

    def test_a_req_socket_lists_the_services(self):
        self.assertEqual(self.run_python(HERE + "/services.py", self.address("registry")),
                         "registry %s\n" % self.address("registry"))

    def test_a_sub_socket_hears_the_hub_and_an_event(self):
        listener = subprocess.Popen(
            ["/usr/bin/python3", HERE + "/listen.py", self.address("hub-sub"), "$hello/", "e/"],
            env=self.env, stdout=subprocess.PIPE, text=True)
        try:
            self.assertRegex(listener.stdout.readline(), r"^\$hello/ \d+")
            self.assertEqual(self.run_python("-c", PUBLISH, self.address("registry")), "1\n")
            self.assertEqual(listener.stdout.readline(), "e/hello/ 1 from Python\n")
        finally:
            listener.kill()
            listener.wait(20)
            listener.stdout.close()


    def test_a_tail_is_no_event(self):
        with zmq.Context() as context, context.socket(zmq.PUB) as hub:
            hub.bind("ipc://%s/hub" % self.directory)
            listener = subprocess.Popen(
                ["/usr/bin/python3", HERE + "/listen.py", "ipc://%s/hub" % self.directory], env=self.env,
                stdout=subprocess.PIPE, text=True)
            try:
                send = subprocess.run(["/usr/bin/python3", "-c", FRAMES], env=self.env, capture_output=True,
                                      timeout=30, check=True).stdout.split(b"|||")
                # A subscription takes a moment to get here.
                lines = []
                while not lines:
                    for frame in send:
                        hub.send_multipart([b"e/x/", frame])
                    if select.select([listener.stdout], [], [], 0.05)[0]:
                        lines.append(listener.stdout.readline())
                self.assertRegex(lines[0], r"^e/x/ \d payload \d\n$")
                # It prints a line for each event, and none for a tail.
                for _ in range(3):
                    for frame in send:
                        hub.send_multipart([b"e/x/", frame])
                for _ in range(6):
                    self.assertRegex(listener.stdout.readline(), r"^e/x/ \d payload \d\n$")
            finally:
                listener.kill()
                listener.wait(20)
                listener.stdout.close()


if __name__ == "__main__":
    xml_runner.main()
