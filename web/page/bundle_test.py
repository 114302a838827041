"""Modules become one script that says the same."""

import unittest

from bazel.python import xml_runner
from web.page import bundle

_SOURCES = {
    "main.js": "// The first.\nimport { html, render } from './preact-htm.js';\nimport { go, far as near } from './a.js';\nimport * as b from './b.js';\n\n  render(html`${go(near)}`);\n",
    "a.js": "import { html } from './preact-htm.js';\nimport { c } from './b.js';\nexport const far = c;\nexport async function go(x) {\n  // Somewhere.\n  return x;\n}\n",
    "b.js": "export let state = 1;\nexport class C {}\nexport const c = 2;\n",
}


class BundleTest(unittest.TestCase):
    def test_modules_come_before_those_that_import_them(self):
        self.assertEqual(bundle.bundle("main.js", _SOURCES), "\n".join((
            "import { html, render } from './preact-htm.js';",
            "const $b = (() => {", "let state = 1;", "class C {}", "const c = 2;", "return { get state() { return state; }, C, c };", "})();",
            "const $a = (() => {", "const { c } = $b;", "const far = c;", "async function go(x) {", "return x;", "}", "return { far, go };", "})();",
            "const $main = (() => {", "const { go, far: near } = $a;", "const b = $b;", "render(html`${go(near)}`);", "return {  };", "})();", "")))

    def test_what_is_not_understood_is_an_error(self):
        for text, why in (("import x from './a.js';\n", "not known"), ("export default 1;\n", "not known"), ("import './a.js';\n", "not known"),
                          ("import * as all from './stream.js';\n", "imports all of")):
            with self.assertRaisesRegex(ValueError, why):
                bundle.bundle("main.js", {**_SOURCES, "main.js": text})
        with self.assertRaisesRegex(ValueError, "main.js -> a.js -> main.js"):
            bundle.bundle("main.js", {"main.js": "import { a } from './a.js';\n", "a.js": "import { b } from './main.js';\n"})

    def test_comments_and_indentation_are_left_out(self):
        self.assertEqual(bundle.short("a\n  // b\n\n    c // d\n"), "a\nc // d\n")


if __name__ == "__main__":
    xml_runner.main()
