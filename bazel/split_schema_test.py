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
/// A remark about A.
table A {
  /// A remark about its name.
  name:string; points:[Point]; color:Color; }
struct Wide { z:double; }
table B { as:[A]; one:A; words:[string]; numbers:[ulong]; wides:[Wide]; }
union Any { A, B }
table Root { any:Any; }
root_type Root;
"""
_USE = """
#include <cstring>
#include <iostream>
#include "x_generated.h"
// Does a table B pass whose one list, in that field, has its element (zeros) `shift` bytes after a multiple of 8?
bool IsTaken(flatbuffers::voffset_t field, std::size_t shift) {
  alignas(8) std::uint8_t bytes[64] = {};
  const auto put = [&bytes](std::size_t at, auto value) { std::memcpy(bytes + at, &value, sizeof(value)); };
  put(0, std::uint32_t{24});             // The root's table.
  put(4, std::uint16_t{14});             // Its vtable, as long as six fields need (the first is at 4).
  put(6, std::uint16_t{8});
  put(4 + field, std::uint16_t{4});
  put(24, std::int32_t{20});             // From the table back to its vtable.
  const std::size_t list = 36 + shift;   // The length; the element follows.
  put(28, static_cast<std::uint32_t>(list - 28));
  put(list, std::uint32_t{1});
  flatbuffers::Verifier verifier(bytes, sizeof(bytes));
  return verifier.VerifyBuffer<ns::B>(nullptr);
}
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
  for (const auto field : {ns::B::VT_NUMBERS, ns::B::VT_WIDES}) {
    std::cout << ' ' << IsTaken(field, 0) << IsTaken(field, 4);
  }
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

    def test_a_remark_that_changes_changes_no_code(self):
        self.assertIn("A remark about A", self.generated)
        self.assertIn("A remark about its name", self.generated)
        for text in split_schema.split(self.generated, "x_generated.h"):
            self.assertNotIn("remark", text)

    def test_both_together_do_what_the_whole_did(self):
        header, source = split_schema.split(self.generated, "x_generated.h")
        (self.directory / "x_generated.h").write_text(header)
        (self.directory / "x_generated.cc").write_text(source)
        (self.directory / "use.cc").write_text(_USE)
        subprocess.run(
            ["/usr/bin/g++", "-std=c++20", "-Wall", "-Werror", "use.cc", "x_generated.cc", "-o", "use"],
            cwd=self.directory, check=True, timeout=100)
        run = subprocess.run(["./use"], cwd=self.directory, capture_output=True, text=True, timeout=10)
        self.assertEqual((run.returncode, run.stdout), (0, "text2 10 10"))

    def test_a_text_that_breaks_off_is_refused(self):
        cut = self.generated[:self.generated.index("  bool Verify") + 200]
        with self.assertRaises(split_schema.Error):
            split_schema.split(cut, "x_generated.h")
        with self.assertRaisesRegex(split_schema.Error, "namespace"):
            split_schema.split("", "x_generated.h")


if __name__ == "__main__":
    xml_runner.main()
