"""Tests of what Bazel's --remote_cache gets from a folder that its --disk_cache has filled."""

import http.client
import pathlib
import tempfile
import unittest
import urllib.parse

from bazel.python import xml_runner
from tests.containers import cache_server

KEY = "ab" * 32
ABSENT = "cd" * 32


class CacheServerTest(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()), "cache")
        for kind, content in (("ac", b"result"), ("cas", b"bytes")):
            path = folder / kind / "ab" / KEY
            path.parent.mkdir(parents=True)
            path.write_bytes(content)
        (folder.parent / "secret").write_text("secret", encoding="utf-8")
        self.server = self.enterContext(cache_server.CacheServer(folder))
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.server.url).netloc, timeout=60)
        self.addCleanup(self.connection.close)

    def ask(self, path, method="GET"):
        self.connection.request(method, path)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def test_results_and_files_are_served_and_actions_counted(self):
        self.assertEqual(self.ask("/ac/" + KEY), (200, b"result"))
        self.assertEqual(self.ask("/cas/" + KEY), (200, b"bytes"))
        self.assertEqual(self.ask("/ac/" + ABSENT), (404, b""))
        self.assertEqual(self.ask("/cas/" + ABSENT), (404, b""))
        self.assertEqual((self.server.found, self.server.missing), (1, 1))

    def test_nothing_else_is_served(self):
        for path in ("/", "/ac/", "/cas/../../secret", "/ac/%2e%2e/secret", "/ac/" + KEY + "/", "/cas/" + KEY.upper()):
            with self.subTest(path=path):
                self.assertEqual(self.ask(path), (404, b""))

    def test_nothing_can_be_stored(self):
        self.assertEqual(self.ask("/ac/" + KEY, "PUT")[0], 501)


if __name__ == "__main__":
    xml_runner.main()
