"""Tests of what the reference takes from a schema, and that it leaves out nothing silently."""

import unittest

from bazel.python import xml_runner
from tools.references import protocol

SCHEMA = """// Trains
// that pull.
include "bus/schema/common.fbs";
namespace msg;
attribute "role";

/// How it goes.
enum Speed : ubyte { Slow, Fast }

/// A train: `a|b`,
/// or another.
table Train {
  /// On which it is.
  line:string;
  cars:[Car];
  // Not for readers.
  speed:Speed = Fast;
}

table Car {
}

struct Place { at:long; }

union Body { Train,
  Car }

/// Who drives.
rpc_service Driver {
  /// Goes.
  Go(Train):Car (role: "control", idempotency: "stored");
  /// Watches.
  Watch(Train):Car (role: "read", idempotency: "safe", deadline_ms: "0", streaming);
}
"""


class ProtocolTest(unittest.TestCase):
    def page(self, text=SCHEMA):
        return protocol.render([protocol.parse("trains", text)])

    def test_a_schema_is_what_its_first_lines_say(self):
        self.assertIn("## trains.fbs\n\nTrains that pull.\n", self.page())

    def test_fields_have_type_default_and_meaning(self):
        self.assertIn("| `line` | `string` | On which it is. |\n", self.page())
        self.assertIn("| `cars` | list of [Car](#car) |  |\n", self.page())
        self.assertIn("| `speed` | [Speed](#speed) (default Fast) |  |\n", self.page())
        self.assertIn("| `at` | `long` |  |\n", self.page())

    def test_a_bar_does_not_end_a_cell(self):
        self.assertIn("`table`. A train: `a\\|b`, or another.\n", self.page())

    def test_what_has_no_fields_is_empty(self):
        self.assertIn("### Car\n\n`table`.\n\nEmpty.\n", self.page())

    def test_enums_and_unions_list_their_members(self):
        self.assertIn("`enum`. How it goes.\n\n`Slow`, `Fast`\n", self.page())
        self.assertIn("`union`.\n\n[Train](#train), [Car](#car)\n", self.page())

    def test_methods_come_first_with_what_is_promised_of_them(self):
        page = self.page()
        self.assertLess(page.index("### Methods of Driver\n\nWho drives."), page.index("### Speed"))
        self.assertIn("| `Go` | Goes. | [Train](#train), [Car](#car) | control | stored | 5 s |\n", page)
        self.assertIn("| `Watch` | Watches. | [Train](#train), [Car](#car) in parts as they come "
                      "| read | safe | none |\n", page)

    def test_what_it_cannot_read_is_named_with_its_place(self):
        for line, place in (("table Odd {\n  what;\n}", "trains:2: cannot read 'what;'"),
                            ("monster Odd {\n}", "trains:1: cannot read 'monster Odd {'"),
                            ("rpc_service S {\n  M(A):B;\n}", "trains:2: cannot read 'M(A):B;'"),
                            ("table Odd {", "trains: Odd has no end")):
            with self.subTest(line), self.assertRaises(protocol.SchemaError) as raised:
                protocol.parse("trains", line)
            self.assertEqual(str(raised.exception), place)


if __name__ == "__main__":
    xml_runner.main()
