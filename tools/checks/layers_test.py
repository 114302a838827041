"""The table of layers against graphs that obey and that do not."""

import subprocess
import unittest

from bazel.python import xml_runner
from tools.checks import layers


def query_answer(rules):
    """`rules` maps a label to (class, testonly, {attribute: labels})."""
    text = ""
    for label, (kind, testonly, attributes) in rules.items():
        lists = "".join(f'<list name="{name}">' + "".join(f'<label value="{l}"/>' for l in labels) + "</list>"
                        for name, labels in attributes.items())
        text += (f'<rule class="{kind}" name="{label}"><boolean name="testonly" value='
                 f'"{str(testonly).lower()}"/>{lists}</rule>')
    return f"<query>{text}</query>"


def violations(user, used, kind="cc_library", testonly=False, attribute="deps"):
    return layers.violations(layers.edges(query_answer({user: (kind, testonly, {attribute: [used]})})))


class LayersTest(unittest.TestCase):
    def test_every_service_is_kept_from_every_other(self):
        services = ["registry", "launcher", "datamanager", "trainer"]
        for user in services:
            for used in services:
                with self.subTest(user=user, used=used):
                    self.assertEqual(len(violations(f"//{user}:a", f"//{used}:b")), int(user != used))

    def test_an_example_may_be_a_trainer_with_functions_of_its_own(self):
        self.assertEqual(violations("//examples/functions:my_trainer", "//trainer:trainer_main"), [])

    def test_lower_layers_do_not_use_higher_ones(self):
        for user, used in [("runtime", "bus"), ("runtime", "eventlog"), ("eventlog", "bus"),
                           ("bus", "registry"), ("bus/schema", "runtime"), ("sdk", "trainer"),
                           ("tools/yard", "launcher"), ("examples/digits", "launcher")]:
            with self.subTest(user=user, used=used):
                self.assertEqual(len(violations(f"//{user}:a", f"//{used}:b")), 1)

    def test_higher_layers_use_lower_ones(self):
        for user, used in [("bus", "runtime"), ("bus", "bus/schema"), ("trainer", "eventlog"),
                           ("tools/yard", "bus"), ("tests", "registry"), ("bench", "trainer"),
                           ("registry", "third_party"), ("runtime/sub", "runtime"), ("", "tools/yard")]:
            with self.subTest(user=user, used=used):
                self.assertEqual(violations(f"//{user}:a", f"//{used}:b"), [])

    def test_tests_and_data_are_free(self):
        self.assertEqual(violations("//registry:a_test", "//launcher:b", kind="cc_test"), [])
        self.assertEqual(violations("//registry:a", "//launcher:b", testonly=True), [])
        self.assertEqual(violations("//tools/yard:a", "//launcher:b", attribute="data"), [])

    def test_sources_and_aliases_count(self):
        self.assertEqual(len(violations("//registry:a", "//launcher:b.h", attribute="srcs")), 1)
        self.assertEqual(len(violations("//registry:a", "//launcher:b", attribute="actual")), 1)

    def test_an_unknown_folder_must_be_put_into_the_table(self):
        self.assertIn("not in the table", violations("//common:a", "//runtime:b")[0])
        self.assertEqual(len(violations("//registry:a", "//common:b")), 1)

    def test_external_labels_are_free(self):
        self.assertEqual(violations("//registry:a", "@bazel_tools//tools/cpp:malloc"), [])

    def test_forbidden_includes_are_found_where_they_may_not_be(self):
        self.assertEqual(layers.forbidden_lines("bus/node.cc", "#include <zmq.hpp>\n"), [])
        self.assertEqual(len(layers.forbidden_lines("registry/a.cc", "\n#include <zmq.hpp>\n")), 1)
        self.assertTrue(layers.forbidden_lines("registry/a.cc", "\n#include <zmq.hpp>\n")[0].startswith("registry/a.cc:2"))
        self.assertEqual(len(layers.forbidden_lines("bus/a.cc", "#include <mutex>")), 1)
        self.assertEqual(len(layers.forbidden_lines("runtime/a.cc", '#include "absl/synchronization/mutex.h"')), 1)
        self.assertEqual(len(layers.forbidden_lines("trainer/a.cc", "flatbuffers::Verifier v(d, n);")), 1)
        self.assertEqual(layers.forbidden_lines("trainer/a.cc", "// never a flatbuffers::Verifier here"), [])


class CheckTest(unittest.TestCase):
    """The whole check, against a Bazel that answers as told."""

    GOOD = query_answer({"//registry:a": ("cc_library", False, {"deps": ["//bus:b"]})})
    BAD = query_answer({"//registry:a": ("cc_library", False, {"deps": ["//trainer:b"]})})
    PLANTED = query_answer({
        "//registry/planted_violation": ("cc_library", False, {"deps": ["//launcher/planted_violation"]}),
        "//runtime/planted_violation": ("cc_library", False, {"deps": ["//bus/planted_violation"]})})

    def check(self, whole, planted, code=0):
        def bazel(*args):
            is_seed = any(arg.startswith("--package_path") for arg in args)
            return subprocess.CompletedProcess(args, 0 if is_seed else code, planted if is_seed else whole, "why")
        return layers.check(bazel, [])

    def test_passes_on_a_clean_graph(self):
        self.assertEqual(self.check(self.GOOD, self.PLANTED), [])

    def test_fails_on_a_violation(self):
        self.assertEqual(len(self.check(self.BAD, self.PLANTED)), 1)

    def test_fails_when_a_planted_violation_is_not_found(self):
        self.assertIn("the check itself is broken", self.check(self.GOOD, self.GOOD)[0])
        self.assertIn("the check itself is broken", self.check(self.GOOD, "")[0])

    def test_fails_when_a_package_cannot_be_loaded(self):
        self.assertIn("cannot be loaded", self.check(self.GOOD, self.PLANTED, code=3)[0])
        self.assertIn("cannot be loaded", self.check("", self.PLANTED, code=7)[0])


if __name__ == "__main__":
    xml_runner.main()
