"""Tests of what is removed for room, and of what is not."""

import os
import tempfile
import unittest
import unittest.mock

from bazel.python import xml_runner
from tools.checks import room

BLOCK = 4096


class RoomTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.bases = os.path.join(self.folder, "bases")
        self.cache = os.path.join(self.folder, "cache")
        os.makedirs(self.bases)
        self.lines = []
        self.size = 0

    def used(self):
        """Bytes below the folder, in whole blocks: directories are not counted."""
        return sum(os.lstat(os.path.join(path, name)).st_blocks * 512
                   for path, _, names in os.walk(self.folder) for name in names)

    def make(self, enough, kept=0):
        """Makes room on a disk that only just holds what is there now."""
        size = self.used()
        return room.Room(self.bases, self.cache, lambda: size - self.used(), self.lines.append, enough, kept).make()

    def base(self, name, checkout, workspace="yard"):
        path = os.path.join(self.bases, name)
        os.makedirs(os.path.join(path, "execroot", workspace))
        with open(os.path.join(path, "DO_NOT_BUILD_HERE"), "w", encoding="utf-8") as file:
            file.write(checkout)
        self.write(os.path.join(path, "output"))
        return path

    def entry(self, name, used):
        path = os.path.join(self.cache, "cas", name[:2], name)
        self.write(path)
        os.utime(path, (used, used))
        return path

    def write(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b"x" * BLOCK)

    def test_nothing_is_removed_while_enough_is_free(self):
        gone = self.base("a", "/gone")
        entry = self.entry("aa1", 1)
        self.assertEqual(self.make(enough=0), 0)
        self.assertTrue(os.path.exists(gone) and os.path.exists(entry))
        self.assertEqual(self.lines, [])

    def test_outputs_of_checkouts_that_are_gone_go_first(self):
        gone = self.base("a", "/gone")
        os.chmod(os.path.join(gone, "execroot", "yard"), 0o500)
        here = self.base("b", self.folder)
        other = self.base("c", "/gone", workspace="another")
        entry = self.entry("aa1", 1)
        self.assertGreaterEqual(self.make(enough=BLOCK), BLOCK)
        self.assertFalse(os.path.exists(gone))
        self.assertTrue(os.path.exists(here) and os.path.exists(other) and os.path.exists(entry))
        self.assertEqual(len(self.lines), 1)
        self.assertRegex(self.lines[0], r"^disk: 0\.0 GB were free; removed .* of old build results$")

    def test_then_the_cache_what_was_used_longest_ago_first(self):
        entries = [self.entry(f"a{k}", used=100 - k) for k in range(4)]
        self.make(enough=2 * BLOCK)
        self.assertEqual([os.path.exists(entry) for entry in entries], [True, True, False, False])

    def test_a_part_of_the_cache_stays_on_a_small_disk(self):
        entries = [self.entry(f"a{k}", used=100 - k) for k in range(4)]
        self.make(enough=10**12, kept=3 * BLOCK)
        self.assertEqual([os.path.exists(entry) for entry in entries], [True, True, True, False])

    def test_says_when_that_is_not_enough(self):
        self.entry("aa1", 1)
        self.make(enough=10**12)
        self.assertIn("Next step", self.lines[-1])
        self.assertIn("1000.0 GB", self.lines[-1])

    def test_folders_that_are_not_there_are_nothing(self):
        self.assertEqual(room.Room("/not/there", "/not/there/either", lambda: 0, self.lines.append, 1).make(), 0)

    def test_the_usual_folders_are_those_of_bazel(self):
        with unittest.mock.patch.dict(os.environ, {"HOME": self.folder, "LOGNAME": "somebody"}):
            made = room.usual(self.lines.append)
        self.assertEqual(made._output_user_root,  # pylint: disable=protected-access
                         os.path.join(self.folder, ".cache/bazel/_bazel_somebody"))


if __name__ == "__main__":
    xml_runner.main()
