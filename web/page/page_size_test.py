"""The page is small, and has nothing in it that its Content-Security-Policy forbids."""

import glob
import gzip
import hashlib
import os
import re
import unittest

from bazel.python import xml_runner
from web.page import bundle

_PAGE = "web/page"
_PINNED = "third_party/page"
_MOST = 80_000  # Bytes, compressed.


def files():
    paths = [path for kind in ("html", "js", "css") for path in glob.glob(f"{_PAGE}/*.{kind}")]
    return {path: open(path, "rb").read() for path in paths + glob.glob(f"{_PINNED}/*.js")}


class PageTest(unittest.TestCase):
    def test_it_is_small(self):
        size = sum(len(gzip.compress(content)) for content in bundle.served(files()).values())
        self.assertLess(size, _MOST)
        self.assertGreater(size, 20_000, "some file is not looked at")

    def test_what_is_served_is_everything(self):
        served = bundle.served(files())
        self.assertEqual(set(served), {"index.html", "page.css", "main.js", *bundle.APART})
        for path in files():
            name = os.path.basename(path)
            if name.endswith(".js") and name not in served:
                self.assertIn("const $%s = " % name[:-3], served["main.js"].decode(), "main.js does not come to it")

    def test_what_others_wrote_is_what_they_published(self):
        sums = dict(reversed(line.split()) for line in open(f"{_PINNED}/SHA256SUMS", encoding="utf-8"))
        self.assertIn("preact-htm.js", sums)
        for name, digest in sums.items():
            with open(os.path.join(_PINNED, name), "rb") as file:
                self.assertEqual(hashlib.sha256(file.read()).hexdigest(), digest, name)

    def test_nothing_is_written_as_markup(self):
        forbidden = re.compile(rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|https?://(?!www\.w3\.org)")
        for path, content in files().items():
            if path.startswith(_PAGE):
                self.assertIsNone(forbidden.search(content), path)

    def test_every_import_is_there(self):
        have = {os.path.basename(path) for path in files()}
        for path, content in files().items():
            if path.startswith(_PAGE):
                for name in re.findall(r"from '\./([^']+)'", content.decode()):
                    self.assertIn(name, have, path)


if __name__ == "__main__":
    xml_runner.main()
