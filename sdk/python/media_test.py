"""Event files as TensorBoard's writers make them, whole, torn and damaged. (With a real writer: tests/reading_test.py.)"""

import os
import random
import shutil
import struct
import sys
import tempfile
import unittest

_HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [_HERE]
import xml_runner
from yard import media


def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def record(data):
    return struct.pack("<Q", len(data)) + b"crc1" + data + b"crc2"


def event(step, *values):
    return record(field(1, 7.5) + field(2, step) + field(5, b"".join(field(1, value) for value in values)))


def plugin(name):
    return field(9, field(1, field(1, name)))


FILE = (
    record(field(1, 1.0) + field(3, b"brain.Event:2")) +
    event(-1, field(1, b"picture") + field(4, field(1, 4) + field(2, 5) + field(4, b"PNG1"))) +
    event(2, field(1, b"note") + plugin(b"text") + field(8, field(8, b"one"))) +
    event(3, field(1, b"note") + field(8, field(8, "zwei \u00fc".encode())), field(1, b"loss") + varint(2 << 3 | 5) + b"\0" * 4) +
    event(4, field(1, b"new picture") + plugin(b"images") + field(8, field(8, b"4") + field(8, b"5") + field(8, b"PNG2"))) +
    event(5, field(1, b"tone") + field(6, field(4, b"WAV1"))) +
    event(6, field(1, b"old") + field(5, field(1, 0.0) + field(6, struct.pack("<3d", 1, 2, 3)) +
                                      field(7, struct.pack("<3d", 4, 0, 5)))) +
    event(7, field(1, b"new") + plugin(b"histograms") + field(8, field(4, struct.pack("<6d", 0, 1, 2, 1, 2, 3)))))


class MediaTest(unittest.TestCase):

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="media", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.directory)

    def read(self, data, tag=None):
        with open(os.path.join(self.directory, "events.out.tfevents.1.host"), "wb") as file:
            file.write(data)
        return list(media.read_media(self.directory, tag))

    def test_each_kind(self):
        found = self.read(FILE)
        self.assertEqual([(one.tag, one.step, one.kind, one.data) for one in found], [
            ("picture", -1, "image", b"PNG1"), ("note", 2, "text", "one"), ("note", 3, "text", "zwei \u00fc"),
            ("new picture", 4, "image", b"PNG2"), ("tone", 5, "audio", b"WAV1"),
            ("old", 6, "histogram", [(0, 1, 4), (2, 3, 5)]), ("new", 7, "histogram", [(0, 1, 2), (1, 2, 3)])])
        self.assertEqual({one.time for one in found}, {7.5})
        self.assertEqual([one.step for one in self.read(FILE, "note")], [2, 3])

    def test_a_file_that_is_torn_is_read_up_to_there(self):
        whole = self.read(FILE)
        for size in range(len(FILE)):
            found = self.read(FILE[:size])
            self.assertEqual(found, whole[:len(found)])

    def test_a_damaged_file_ends_or_is_passed_over(self):
        chance = random.Random(1)
        for _ in range(300):
            data = bytearray(FILE)
            for _ in range(chance.randrange(1, 4)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            self.read(bytes(data))  # Raises nothing.


if __name__ == "__main__":
    xml_runner.main()
