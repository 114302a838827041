"""Pictures, histograms and texts that a C++ program reports, as a reader of event files has them."""

import os
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(_HERE, "../python/testing")]
import event_media
import xml_runner

_MAIN = """
#include "yard.h"
#include <signal.h>
#include <sys/resource.h>
// As of a disk that takes so many bytes of a file.
void LimitFiles(rlim_t size) {
  rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = size;
  setrlimit(RLIMIT_FSIZE, &limit);
}
int ReportToAFullDisk() {
  yard::Reporter reporter;
  signal(SIGXFSZ, SIG_IGN);
  LimitFiles(50);
  std::puts(reporter.ReportText("lost", "first", 1).message.c_str());
  LimitFiles(RLIM_INFINITY);
  if (!reporter.ReportText("note", "second", 2)) return 6;
  LimitFiles(200);
  if (reporter.ReportText("lost", std::string(200, 'x'), 3)) return 7;
  LimitFiles(RLIM_INFINITY);
  return reporter.ReportText("note", "fourth", 4) ? 0 : 8;
}
int main(int argc, char**) {
  if (argc > 1) return ReportToAFullDisk();
  yard::Reporter reporter;
  std::vector<std::uint8_t> pixels(300 * 200 * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i % 251);
  yard::Image image;
  image.width = 300;
  image.height = 200;
  image.pixels = pixels.data();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t step : {3, -1}) {
    if (!reporter.ReportImage("sample/a", image, step)) return 1;
    if (!reporter.ReportHistogram("weights", {1, 2, 2, 4, nan, -1}, step)) return 2;
    if (!reporter.ReportText("note", "**bold** <b>", step)) return 3;
  }
  image.channels = 1;
  image.width = 5;
  image.height = 1;
  if (!reporter.ReportImage("gray", image, 1)) return 4;
  if (!reporter.ReportHistogram("one", {5}, 1) || !reporter.ReportHistogram("far", {-1e308, 1e308}, 1)) return 5;
  image.width = 4097;
  image.height = 4097;
  std::puts(reporter.ReportImage("large", image, 1).message.c_str());
  image.channels = 5;
  std::puts(reporter.ReportImage("odd", image, 1).message.c_str());
  std::puts(reporter.ReportHistogram("none", {nan}, 1).message.c_str());
  std::puts(reporter.ReportText("long", std::string((16 << 20) + 1, 'x'), 1).message.c_str());
}
"""
_REFUSED = ["image large of 4097x4097 pixels is over the limit of 16 MiB", "image odd of 4097x4097 pixels and 5 channels has no picture",
            "histogram none has no finite value", "text of 16777217 bytes long is over the limit of 16 MiB"]


def pixels_of(png):
    """Width, height, colour type and the bytes of the pixels of a PNG file without filters, its checksums checked."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(png):
        length, = struct.unpack_from(">I", png, at)
        kind, content = png[at + 4:at + 8], png[at + 8:at + 8 + length]
        assert zlib.crc32(kind + content) == struct.unpack_from(">I", png, at + 8 + length)[0]
        chunks[kind] = content
        at += 12 + length
    width, height, bits, colours = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert bits == 8 and chunks[b"IEND"] == b""
    raw = zlib.decompress(chunks[b"IDAT"])
    line = len(raw) // height
    assert all(raw[row * line] == 0 for row in range(height))
    return width, height, colours, b"".join(raw[row * line + 1:(row + 1) * line] for row in range(height))


class ValuesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.directory = folder.name
        with open(self.directory + "/main.cc", "w") as file:
            file.write(_MAIN)
        made = subprocess.run(["/usr/bin/g++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-I", _HERE,
                               "main.cc", "-o", "program"],
                              cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual((made.returncode, made.stdout), (0, ""))

    def run_program(self, *words, **variables):
        return subprocess.run([self.directory + "/program", *words], env=variables, stdout=subprocess.PIPE, text=True, check=True,
                              timeout=60).stdout.splitlines()

    def test_they_are_in_the_files_of_the_run(self):
        run = self.directory + "/run"
        os.mkdir(run)
        self.assertEqual(self.run_program(YARD_LOGDIR=run), _REFUSED)
        found = {(value.tag, value.step): value for value in event_media.read_media(run)}
        self.assertEqual(sorted(found), [("far", 1), ("gray", 1), ("note", -1), ("note", 3), ("one", 1), ("sample/a", -1),
                                         ("sample/a", 3), ("weights", -1), ("weights", 3)])
        expected = bytes(i % 251 for i in range(300 * 200 * 3))
        self.assertEqual(pixels_of(found["sample/a", 3].data), (300, 200, 2, expected))
        self.assertEqual(pixels_of(found["gray", 1].data), (5, 1, 0, expected[:5]))
        self.assertEqual((found["note", 3].kind, found["note", 3].data), ("text", "**bold** <b>"))
        buckets = found["weights", 3].data
        self.assertEqual((buckets[0][0], buckets[-1][1], [bucket[2] for bucket in buckets]), (-1.0, 4.0, [1.0, 1.0, 2.0, 1.0]))
        for left, right, count in buckets:
            self.assertTrue(left < right and count > 0)
        self.assertEqual([bucket[2] for bucket in found["one", 1].data], [1.0])
        self.assertEqual([bucket[2] for bucket in found["far", 1].data], [1.0, 1.0])

    def test_a_value_that_the_disk_does_not_take_leaves_nothing_behind(self):
        run = self.directory + "/run"
        os.mkdir(run)
        self.assertRegex(self.run_program("full", YARD_LOGDIR=run)[0], "cannot write .*/run/events.*: File too large")
        self.assertEqual([(value.tag, value.step, value.data) for value in event_media.read_media(run)],
                         [("note", 2, "second"), ("note", 4, "fourth")])
        for name in os.listdir(run):
            with open(os.path.join(run, name), "rb") as file:
                data = file.read()
            self.assertTrue(not data or b"brain.Event:2" in data[:50])

    def test_by_hand_they_are_told(self):
        out = self.run_program()
        self.assertEqual(out[:3], ["step=3 sample/a: image of 300x200 pixels", "step=3 weights: histogram of 5 values",
                                   "step=3 note: text of 12 bytes"])
        self.assertEqual(out[-4:], _REFUSED)


if __name__ == "__main__":
    xml_runner.main()
