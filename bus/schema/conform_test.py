"""Today's schemas can be spoken with whoever was built with those last released."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from bazel.python import xml_runner

FLATC = "/usr/bin/flatc"
SCHEMAS = "bus/schema"
RELEASED = "bus/schema/released"


class ConformTest(unittest.TestCase):
    def setUp(self):
        """Two trees of their own, so that each schema includes those of its own time."""
        self.directory = pathlib.Path(tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"]))
        self.names = sorted(path.name for path in pathlib.Path(RELEASED).glob("*.fbs"))
        for tree, source in (("new", SCHEMAS), ("old", RELEASED)):
            (self.directory / tree / SCHEMAS).mkdir(parents=True)
            for path in pathlib.Path(source).glob("*.fbs"):
                shutil.copy(path, self.directory / tree / SCHEMAS / path.name)

    def tearDown(self):
        shutil.rmtree(self.directory)

    def why_not(self, name):
        """Returns flatc's objections to the new `name`; empty if it has none."""
        tool = subprocess.run(
            [FLATC, "-I", "new", "--conform-includes", "old",
             "--conform", "old/%s/%s" % (SCHEMAS, name), "new/%s/%s" % (SCHEMAS, name)],
            cwd=self.directory, capture_output=True, text=True, timeout=60)
        words = tool.stdout + tool.stderr
        if tool.returncode != 0:
            return words or "exit code %d" % tool.returncode
        self.assertEqual(words, "")
        return ""

    def change(self, name, old, new):
        path = self.directory / "new" / SCHEMAS / name
        text = path.read_text()
        self.assertIn(old, text, "the change that this test makes is not possible any more")
        path.write_text(text.replace(old, new, 1))

    def test_every_schema_conforms_to_the_one_released(self):
        self.assertIn("envelope.fbs", self.names)
        self.assertGreaterEqual(len(self.names), 6)
        for name in self.names:
            with self.subTest(name):
                self.assertTrue((self.directory / "new" / SCHEMAS / name).exists(), "it is gone")
                self.assertEqual(self.why_not(name), "")

    def test_a_field_at_the_end_conforms(self):
        self.change("common.fbs", "  key:string;\n  value:string;\n", "  key:string;\n  value:string;\n  more:string;\n")
        self.assertEqual(self.why_not("common.fbs"), "")
        self.assertEqual(self.why_not("envelope.fbs"), "")

    def test_a_field_in_between_does_not(self):
        self.change("common.fbs", "table KeyValue {\n", "table KeyValue {\n  before:string;\n")
        self.assertIn("offsets differ", self.why_not("common.fbs"))
        self.assertIn("offsets differ", self.why_not("launcher.fbs"))

    def test_another_type_does_not(self):
        self.change("common.fbs", "  uptime_ms:ulong;", "  uptime_ms:int;")
        self.assertIn("types differ", self.why_not("common.fbs"))

    def test_another_default_does_not(self):
        self.change("envelope.fbs", "  protocol:ushort = 1;", "  protocol:ushort = 2;")
        self.assertIn("defaults differ", self.why_not("envelope.fbs"))

    def test_a_member_of_the_union_in_between_does_not(self):
        self.change("envelope.fbs", "StatsReply, ShutdownRequest", "StatsReply, KeyValue, ShutdownRequest")
        self.assertIn("values differ", self.why_not("envelope.fbs"))

    def test_another_order_of_kinds_does_not(self):
        self.change("envelope.fbs", "Event, Tail,", "Tail, Event,")
        self.assertIn("values differ", self.why_not("envelope.fbs"))

    def test_a_schema_that_does_not_parse_does_not(self):
        self.change("envelope.fbs", "root_type Envelope;", "root_type Nothing;")
        self.assertNotEqual(self.why_not("envelope.fbs"), "")


if __name__ == "__main__":
    xml_runner.main()
