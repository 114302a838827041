"""The table of layers against graphs that obey and that do not."""

import subprocess
import unittest

from bazel.python import xml_runner
from tools.checks import layers


PAGE = """# Page

| `elsewhere/` | no row | anything |

## Layers

| folder | what it is | may include |
| --- | --- | --- |
| `third_party/` | libraries | nothing |
| `runtime/` | floor | `third_party/` |
| `eventlog/` | files | `third_party/` `runtime/` |
| `bus/schema/` | messages | `third_party/`, and of `bus/` the descriptors |
| `bus/` | bytes | `third_party/` `runtime/` `bus/schema/` |
| `registry/` | a service | as `bus/`, and `bus/` |
| `launcher/` | a service | as `registry/` |
| `trainer/` | a service | as `registry/`, and `eventlog/` and its folders: `trainer/report/` |
| `trainer/report/` | a part of it | as `registry/` |
| `trainer/table/` | a part of it | as `trainer/report/`, and `trainer/report/` |
| `sdk/` | programs | `third_party/` `runtime/` |
| `tools/` | the command line | as `trainer/`, and `sdk/` |
| `examples/` | examples | as `registry/`, and `sdk/` `trainer/` |
| `tests/` | several | anything |
| `bench/` | figures | anything |

## The bus

| `zoo/` | no row | anything |
"""

GROUPS = """
package_group(
    name = "above_eventlog",
    packages = [
        "//eventlog/...",
        "//trainer/...",
        "//tools/...",
        "//tests/...",
        "//bench/...",
    ],
)
"""


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
    return layers.violations(layers.edges(query_answer({user: (kind, testonly, {attribute: [used]})})),
                             layers.Table(PAGE))


class LayersTest(unittest.TestCase):
    def test_every_service_is_kept_from_every_other(self):
        services = ["registry", "launcher", "trainer"]
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

    def test_a_folder_within_a_folder_has_a_row_of_its_own(self):
        self.assertEqual(violations("//trainer:a", "//trainer/report:b"), [])
        self.assertEqual(violations("//trainer/other:a", "//trainer:b"), [])
        self.assertEqual(violations("//trainer/report/inner:a", "//trainer/report:b"), [])
        self.assertEqual(len(violations("//trainer/report:a", "//trainer:b")), 1)
        self.assertEqual(len(violations("//trainer/report:a", "//eventlog:b")), 1)

    def test_who_names_a_folder_names_those_in_it_except_from_within(self):
        self.assertEqual(violations("//examples:a", "//trainer/report:b"), [])
        self.assertEqual(violations("//trainer/table:a", "//trainer/report:b"), [])
        self.assertEqual(len(violations("//trainer/report:a", "//trainer/table:b")), 1)
        page = PAGE.replace("and `trainer/report/` |", "and `trainer/` |")
        table = layers.Table(page)
        self.assertIn("trainer", table.may_use("trainer/table"))
        self.assertNotIn("trainer/report", table.may_use("trainer/table"))

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
        self.assertEqual(layers.forbidden_lines("bus/thread/node.cc", "#include <zmq.hpp>\n"), [])
        self.assertEqual(len(layers.forbidden_lines("registry/a.cc", "\n#include <zmq.hpp>\n")), 1)
        self.assertTrue(layers.forbidden_lines("registry/a.cc", "\n#include <zmq.hpp>\n")[0].startswith("registry/a.cc:2"))
        self.assertEqual(len(layers.forbidden_lines("bus/a.cc", "#include <mutex>")), 1)
        self.assertEqual(len(layers.forbidden_lines("runtime/a.cc", '#include "absl/synchronization/mutex.h"')), 1)
        self.assertEqual(len(layers.forbidden_lines("trainer/a.cc", "flatbuffers::Verifier v(d, n);")), 1)
        self.assertEqual(layers.forbidden_lines("trainer/a.cc", "// never a flatbuffers::Verifier here"), [])


    def test_the_static_shim_includes_little(self):
        for path in ("launcher/wire/a.cc", "launcher/process/a.h", "launcher/shim/a.cc", "launcher/shim_main.cc"):
            for include in ("absl/strings/str_cat.h", "runtime/file/file.h", "launcher/job/job_store.h", "glog/logging.h"):
                self.assertIn(path + ":2", layers.forbidden_lines(path, f'\n#include "{include}"\n')[0])
            for include in ("launcher/wire/record.h", "runtime/file/unique_fd.h"):
                self.assertEqual(layers.forbidden_lines(path, f'#include "{include}"\n'), [])
        self.assertEqual(layers.forbidden_lines("launcher/shim/a_test.cc", '#include "absl/time/time.h"\n'), [])
        self.assertEqual(layers.forbidden_lines("launcher/run/a.cc", '#include "absl/time/time.h"\n'), [])


class TableTest(unittest.TestCase):
    def test_only_the_section_of_layers_counts(self):
        table = layers.Table(PAGE)
        self.assertEqual(table.errors, [])
        self.assertIn("runtime", table.folders())
        self.assertNotIn("elsewhere", table.folders())
        self.assertNotIn("zoo", table.folders())

    def test_a_page_without_the_table_is_an_error(self):
        self.assertIn("has no table", layers.Table("# Page\n").errors[0])

    def test_a_row_names_folders_that_have_rows(self):
        errors = layers.Table(PAGE.replace("`sdk/` | programs | `third_party/`", "`sdk/` | programs | `thrid_party/`")).errors
        self.assertEqual(errors, ["docs/architecture.md: the row of sdk/ names thrid_party/, which has no row"])

    def test_a_circle_of_rows_ends(self):
        page = PAGE.replace("| a service | as `bus/`, and `bus/` |", "| a service | as `launcher/`, and `bus/` |")
        self.assertEqual(layers.Table(page).may_use("launcher"), {"bus", "bus/schema"})

    def test_a_group_says_what_the_table_says(self):
        table = layers.Table(PAGE)
        self.assertEqual(layers.wrong_groups(table, GROUPS), [])
        self.assertIn("lacks trainer/", layers.wrong_groups(table, GROUPS.replace('        "//trainer/...",\n', ""))[0])
        self.assertIn("has sdk/", layers.wrong_groups(table, GROUPS.replace("//trainer/...", "//trainer/...\",\n\"//sdk/..."))[0])
        self.assertIn("of no folder", layers.wrong_groups(table, GROUPS.replace("above_eventlog", "above_all"))[0])


class CheckTest(unittest.TestCase):
    """The whole check, against a Bazel that answers as told."""

    GOOD = query_answer({"//registry:a": ("cc_library", False, {"deps": ["//bus:b"]})})
    BAD = query_answer({"//registry:a": ("cc_library", False, {"deps": ["//trainer:b"]})})
    PLANTED = query_answer({
        "//registry/planted_violation": ("cc_library", False, {"deps": ["//launcher/planted_violation"]}),
        "//runtime/planted_violation": ("cc_library", False, {"deps": ["//bus/planted_violation"]}),
        "//trainer/report/planted_violation": ("cc_library", False, {"deps": ["//trainer/table/planted_violation"]})})

    def check(self, whole, planted, code=0):
        def bazel(*args):
            is_seed = any(arg.startswith("--package_path") for arg in args)
            return subprocess.CompletedProcess(args, 0 if is_seed else code, planted if is_seed else whole, "why")
        return layers.check(bazel, [], PAGE, GROUPS)

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
