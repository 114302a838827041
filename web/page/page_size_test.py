"""The page is small, and has nothing in it that its Content-Security-Policy forbids."""

import glob
import gzip
import hashlib
import os
import re
import unittest

from bazel.python import xml_runner
from web.page import embed

_PAGE = "web/page"
_PINNED = "third_party/page"
_MOST = 80_000  # Bytes, compressed.


def files():
    paths = [path for kind in ("html", "js", "css") for path in glob.glob(f"{_PAGE}/*.{kind}")]
    return {path: open(path, "rb").read() for path in paths + glob.glob(f"{_PINNED}/*.js")}


class PageTest(unittest.TestCase):
    def test_it_is_small(self):
        size = sum(len(gzip.compress(embed.served(path))) for path in files())
        self.assertLess(size, _MOST)
        self.assertGreater(size, 20_000, "some file is not looked at")

    def test_what_is_served_lacks_comments_and_indentation_alone(self):
        for path, content in files().items():
            if not path.startswith(_PAGE):
                self.assertEqual(embed.served(path), content, path)
                continue
            lines, served = content.decode().split("\n"), embed.served(path).decode().split("\n")
            self.assertEqual(len(lines), len(served), path)
            for line, one in zip(lines, served):
                self.assertEqual(one, "" if line.strip().startswith("//") else line.strip(), path)

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
