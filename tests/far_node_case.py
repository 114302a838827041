"""A node of a pool that does not see directories of the yard's machine.

The node is yard-node itself, on this machine; a tmpfs of its own hides what another host would not see.
"""

import json
import pathlib
import signal

from tests import yard_case

NODE = "launcher/node/yard-node"


class FarNodeCase(yard_case.YardCase):
    """Each test has a pool of one node, both named after it."""

    def setUp(self):
        self.name = self.id().rpartition(".")[2].replace("_", "-")[-20:].strip("-")
        self.here = pathlib.Path(self.directory)
        reply = json.loads(self.yard("call", "launcher", "SetNode", json.dumps(
            {"name": self.name, "pool": self.name, "address": self.name, "slots": 4}))[0])
        self.sockets = reply["socket"], reply["trainer_socket"]
        self.folder = self.here / ("n-" + self.name)
        self.addCleanup(self.yard, "call", "launcher", "RemoveNode", json.dumps({"name": self.name, "force": True}))

    def start_node(self, hides=()):
        """A node that does not see these directories as they are here."""
        words = [str(pathlib.Path(NODE).absolute()), "--folder=%s" % self.folder,
                 "--launcher_socket=%s" % self.sockets[0], "--trainer_socket=%s" % self.sockets[1],
                 "--shim=%s" % pathlib.Path("launcher/yard-shim").absolute()]
        process = self.start(*yard_case.hiding(words, hides))
        self.addCleanup(process.wait, yard_case.LONG)
        self.addCleanup(process.send_signal, signal.SIGTERM)
        return process

    def trial(self, name):
        return json.loads(self.yard("show", name, "--json")[0])
