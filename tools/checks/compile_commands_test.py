"""From Bazel's actions to clang's database."""

import unittest

from bazel.python import xml_runner
from tools.checks.compile_commands import compile_commands


def action(*arguments):
    return {"mnemonic": "CppCompile", "arguments": ["/usr/bin/gcc", *arguments]}


class CompileCommandsTest(unittest.TestCase):
    def commands(self, *actions):
        return compile_commands({"actions": list(actions)}, "/checkout", "/out")

    def test_one_command_for_each_file_of_the_checkout(self):
        found = self.commands(action("-c", "bus/b.cc"), action("-c", "bus/a.cc"), action("-c", "bus/a.cc"),
                              action("-c", "external/x/a.cc"), action("-c", "bazel-out/k8/bin/a.cc"), action("-S"))
        self.assertEqual([command["file"] for command in found], ["bus/a.cc", "bus/b.cc"])
        self.assertEqual({command["directory"] for command in found}, {"/checkout"})

    def test_generated_headers_are_found_where_they_are_and_are_not_judged(self):
        found = self.commands(action("-iquote", ".", "-iquote", "bazel-out/k8/bin", "-c", "a.cc"))[0]["arguments"]
        self.assertEqual(found[1:5], ["-iquote", ".", "-isystem", "/out/k8/bin"])

    def test_flags_of_gcc_alone_are_left_out(self):
        found = self.commands(action("-fno-canonical-system-headers", "-Wall", "-c", "a.cc"))[0]["arguments"]
        self.assertNotIn("-fno-canonical-system-headers", found)
        self.assertIn("-Wall", found)

    def test_no_file_stands_on_a_precompiled_header(self):
        found = self.commands(action("-Wall", "-include-pch", "bazel-out/k8/bin/bazel/pch/base.pch", "-c", "a.cc"))[0]
        self.assertEqual(found["arguments"][1:4], ["-Wall", "-c", "a.cc"])


if __name__ == "__main__":
    xml_runner.main()
