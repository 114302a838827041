"""Tests of what the check of pages finds, and of what it leaves alone."""

import unittest

from bazel.python import xml_runner
from tools.checks import pages

FILES = {
    "docs/a.md": "# A page\n\n## What `x` is, really\n",
    "docs/troubleshooting.md": "",
    "tests/kill_test.cc": "TEST_F(KillTest, ItGoesOn) {}",
    "tests/kill_test.py": "class KillTest:\n    def test_it_goes_on(self):\n",
    "x.cc": 'StrCat("cannot read ", path,\n  ": the file "\n  "is \\"gone\\"")  // cannot write',
    "x.py": 'raise Error("no # room")  # no disk\n',
    "BUILD": 'filegroup(\n    name = "pages",\n)\n',
    "bus": "",
    "bus/BUILD": 'load("//bus:list.bzl", "PARTS")\n'
                 '[yard_test(name = "a_" + part, srcs = [part + ".cc"]) for part in PARTS]\n'
                 'yard_library(\n    name = "bus",\n    srcs = ["client.cc"],\n)\n',
    "bus/list.bzl": 'PARTS = ["client"]',
    "bus/schema.fbs": "table A {}",
    "examples/smallest/report.cc": "int main() {  // Here.\n  return Report(\n      1);\n}\n",
}


def check(**texts):
    files = dict(FILES, **{name.replace("__", "/") + ".md": text for name, text in texts.items()})
    return pages.check([path for path in files if path.endswith(".md")], ["x.cc", "x.py"], files.get)


class PagesTest(unittest.TestCase):
    def test_a_link_to_a_file_and_a_title_of_it_is_good(self):
        self.assertEqual(check(docs__b="[a](a.md) [b](a.md#what-x-is-really) [c](../tests/kill_test.cc)"), [])
        self.assertEqual(check(README="[a](docs/a.md)\n# Here\n[b](#here) [c](https://example.org/x)"), [])

    def test_a_link_that_leads_nowhere_is_named(self):
        missing, title = check(docs__b="[a](c.md) [b](a.md#no)")
        self.assertEqual(missing, "docs/b.md: the link c.md leads nowhere: there is no docs/c.md")
        self.assertIn("no title of docs/a.md is #no", title)

    def test_code_has_no_links(self):
        self.assertEqual(check(docs__b="`[a](b)`\n```text\n[a](b)\n```\n"), [])

    def test_an_error_that_is_said_is_good(self):
        text = '### `cannot read ...: the file is "gone"`\n### `... the file is`\n'
        self.assertEqual(check(docs__troubleshooting=text), [])

    def test_an_error_that_nobody_says_is_named(self):
        sentence, = check(docs__troubleshooting="### `cannot read ... the folder`\n")
        self.assertEqual(sentence,
                         "docs/troubleshooting.md: no program says `cannot read ... the folder` (any more)")

    def test_what_only_a_comment_says_is_not_said(self):
        self.assertEqual(check(docs__troubleshooting="### `no # room`\n"), [])
        write, disk = check(docs__troubleshooting="### `cannot write`\n### `no disk`\n")
        self.assertIn("cannot write", write)
        self.assertIn("no disk", disk)

    def test_labels_that_are_there_are_good(self):
        text = ("`bazel test //bus/... //bus:a_client`, `//bus`, `//bus/` and //bus:schema.fbs.\n\n"
                "    bazel build //...\n"
                "```text\n//:pages\nhttps://example.org @other//x:y //FOLDER/...\n```\n// no label\n")
        self.assertEqual(check(docs__b=text), [])

    def test_a_label_of_no_package_or_folder_is_named(self):
        self.assertEqual(check(docs__b="`bazel test //bus //sub:sub`\n\n    //sub/... x //sub/\n"),
                         ["docs/b.md: there is no package //sub", "docs/b.md: there is no folder //sub/...",
                          "docs/b.md: there is no folder //sub/"])

    def test_a_label_of_no_target_is_named(self):
        for target in ("client", "a_", "client.cc", "us"):
            with self.subTest(target):
                self.assertEqual(check(docs__b=f"`//bus:bus //bus:{target}`"),
                                 [f"docs/b.md: there is no target //bus:{target}"])

    def test_code_that_is_compiled_is_good(self):
        self.assertEqual(check(sdk__README="```cpp\nint main() {\n  return Report(1);  // 0\n```\n"), [])
        self.assertEqual(check(docs__b="```cpp file=a.cc\nint a;\n```\n"), [])

    def test_code_that_nobody_compiles_is_named(self):
        self.assertEqual(check(sdk__README="```cpp\nint main() {\n  return Report(2);\n```\n"),
                         ["sdk/README.md: examples/smallest/report.cc has no line `return Report(2);`"])
        sentence, = check(docs__b="```cpp\nint a;\n```\n")
        self.assertIn("docs/b.md: no source has its C++", sentence)

    def test_a_case_that_is_there_is_good(self):
        text = "`tests/kill_test.cc` `KillTest.ItGoesOn`, `tests/kill_test.py` `test_it_goes_on`"
        self.assertEqual(check(docs__b=text), [])

    def test_a_case_that_is_gone_is_named(self):
        gone, nowhere = check(docs__b="`tests/kill_test.cc` `KillTest.ItGoes` `tests/no_test.py` `a`")
        self.assertEqual(gone, "docs/b.md: tests/kill_test.cc has no case KillTest.ItGoes")
        self.assertEqual(nowhere, "docs/b.md: there is no tests/no_test.py")

    def test_a_page_that_nobody_reads_to_its_end_is_named(self):
        self.assertEqual(check(docs__b="word " * 3000), [])
        self.assertEqual(check(docs__b="This page is written by `tools/reference`\n\n" + "word " * 3001), [])
        sentence, = check(docs__b="word " * 3001)
        self.assertIn("docs/b.md: 3001 words", sentence)

    def test_a_test_that_its_readme_does_not_name_is_found(self):
        files = {"tests/README.md": "`kill_test.cc`, restart_test.cc"}
        tests = ["tests/kill_test.cc", "tests/restart_test.cc", "tests/launcher/a_test.cc"]
        self.assertEqual(pages.check(list(files), [], files.get, tests),
                         ["tests/README.md: does not name restart_test.cc"])


if __name__ == "__main__":
    xml_runner.main()
