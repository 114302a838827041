"""Tests of bazel/split_schema.py, on what flatc writes for a schema with everything in it."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from bazel import split_schema
from bazel.python import xml_runner

_SCHEMA = """
namespace ns;
enum Color : ubyte { Red, Green }
struct Point { x:int; y:int; }
table A { name:string; points:[Point]; color:Color; }
table B { as:[A]; one:A; words:[string]; numbers:[ulong]; }
union Any { A, B }
table Root { any:Any; }
root_type Root;
"""
_USE = """
#include <iostream>
#include "x_generated.h"
int main() {
  ns::BT b;
  b.one = std::make_unique<ns::AT>();
  b.one->name = "text";
  b.numbers = {1, 2};
  ns::RootT root;
  root.any.Set(std::move(b));
  const ns::RootT copy = root;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(ns::CreateRoot(builder, &copy));
  flatbuffers::Verifier verifier(builder.GetBufferPointer(), builder.GetSize());
  if (!ns::VerifyRootBuffer(verifier)) return 1;
  ns::RootT again;
  ns::GetRoot(builder.GetBufferPointer())->UnPackTo(&again);
  std::cout << again.any.AsB()->one->name << again.any.AsB()->numbers.size();
}
"""


class SplitSchemaTest(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"]))
        (self.directory / "x.fbs").write_text(_SCHEMA)
        subprocess.run(
            ["/usr/bin/flatc", "--cpp", "--cpp-std", "c++17", "--scoped-enums", "--keep-prefix",
             "--gen-object-api", "x.fbs"], cwd=self.directory, check=True, timeout=60)
        self.generated = (self.directory / "x_generated.h").read_text()

    def test_the_header_defines_nothing_of_packing(self):
        header, source = split_schema.split(self.generated, "x_generated.h")
        for text in ("fbb_.StartTable", "_fbb.CreateVector", "verifier.EndTable", "switch (type)"):
            self.assertIn(text, source)
            self.assertNotIn(text, header)

    def test_both_together_do_what_the_whole_did(self):
        header, source = split_schema.split(self.generated, "x_generated.h")
        (self.directory / "x_generated.h").write_text(header)
        (self.directory / "x_generated.cc").write_text(source)
        (self.directory / "use.cc").write_text(_USE)
        subprocess.run(
            ["/usr/bin/g++", "-std=c++20", "-Wall", "-Werror", "use.cc", "x_generated.cc", "-o", "use"],
            cwd=self.directory, check=True, timeout=100)
        run = subprocess.run(["./use"], cwd=self.directory, capture_output=True, text=True, timeout=10)
        self.assertEqual((run.returncode, run.stdout), (0, "text2"))

    def test_a_text_that_breaks_off_is_refused(self):
        cut = self.generated[:self.generated.index("  bool Verify") + 200]
        with self.assertRaises(split_schema.Error):
            split_schema.split(cut, "x_generated.h")
        with self.assertRaisesRegex(split_schema.Error, "namespace"):
            split_schema.split("", "x_generated.h")


if __name__ == "__main__":
    xml_runner.main()
