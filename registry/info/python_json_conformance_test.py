"""Random input through Python's own json and base64 on one side, and ours on the other."""

import base64
import json
import os
import random
import struct
import subprocess
import unittest

from bazel.python import xml_runner

_PROBE = os.path.abspath(os.environ["PROBE"])
_SEED = int(os.environ.get("SEED", "5"))
# A decoder for bytes as os.fsdecode() is in a UTF-8 locale, whatever the locale of this test.
_LIKE_PATHS = ("utf-8", "surrogateescape")


def ask(lines):
    """The probe's answers to `lines`, each a word and fields of bytes."""
    text = "".join("\t".join([line[0]] + [field.hex() for field in line[1:]]) + "\n"
                   for line in lines)
    done = subprocess.run([_PROBE], input=text, stdout=subprocess.PIPE, check=True, text=True,
                          timeout=50)
    return done.stdout.splitlines()


def compact(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


class Random(random.Random):
    def bytes_of_a_path(self):
        size = self.choice([0, 1, 2, 3, 5, 8])
        if self.random() < 0.4:
            return bytes(self.randrange(1, 256) for _ in range(size))
        return "".join(chr(self.choice([
            self.randrange(32, 127), self.randrange(1, 0x250), self.randrange(0xE000, 0x110000),
            0x1F600])) for _ in range(size)).encode()

    def name(self):
        if self.random() < 0.1:
            return "".join(chr(self.randrange(0xD7F0, 0xE010)) for _ in range(4))
        return self.bytes_of_a_path().decode(*_LIKE_PATHS)

    def real(self):
        return self.choice([
            lambda: struct.unpack("<d", struct.pack("<Q", self.getrandbits(64)))[0],
            lambda: self.randrange(10**self.randrange(1, 18)) * 10.0**self.randrange(-25, 25),
            lambda: -self.random() * 10**self.randrange(6),
            lambda: 2.0**self.randrange(-1074, 1024),
            lambda: float(self.randrange(10**17)),
        ])()

    def value(self, depth=0):
        kind = self.randrange(8 if depth < 3 else 6)
        if kind == 0:
            return self.choice([None, True, False])
        if kind == 1:
            return self.choice([-1, 1]) * self.getrandbits(self.choice([3, 31, 63, 64, 200]))
        if kind < 4:
            return self.real()
        if kind < 6:
            return self.name()
        if kind == 6:
            return [self.value(depth + 1) for _ in range(self.randrange(4))]
        return self.object(depth + 1)

    def object(self, depth=0):
        return {self.name(): self.value(depth) for _ in range(self.randrange(5))}

    def text(self, value):
        """`value` as JSON text, in one of the forms it can have."""
        text = json.dumps(value, ensure_ascii=False, indent=self.choice([None, 1]))
        try:
            return text.encode()
        except UnicodeEncodeError:
            return json.dumps(value).encode()


class ConformanceTest(unittest.TestCase):

    def setUp(self):
        self.random = Random(_SEED)

    def check(self, lines, expected):
        answers = ask(lines)
        self.assertEqual(len(answers), len(expected))
        for line, answer, wanted in zip(lines, answers, expected):
            self.assertEqual(answer, wanted, line)

    def test_cache_keys(self):
        lines, expected = [], []
        for _ in range(1500):
            directory = b"/" + self.random.bytes_of_a_path()
            arguments = [self.random.bytes_of_a_path() for _ in range(self.random.randrange(4))]
            kwargs = self.random.text(self.random.object())
            lines.append(["key", directory, kwargs] + arguments)
            datum = {"working_directory": directory.decode(*_LIKE_PATHS),
                     "arguments": [argument.decode(*_LIKE_PATHS) for argument in arguments],
                     "configure_kwargs": json.loads(kwargs)}
            expected.append(base64.b64encode(compact(datum).encode()).decode())
        self.check(lines, expected)

    def test_text_with_something_changed_is_read_or_refused_alike(self):
        pieces = [b'"', b"\\", b"\\u", b"\\ud83d", b"\\udE00", b"{", b"}", b"[", b"]", b",", b":",
                  b"0", b"-", b".", b"e", b"+1", b"NaN", b"Infinity", b"-Infinity", b"null", b" ",
                  b"\t\n\r", b"\x0b", b"\x00", b"\x1f", b"\x7f", b"\x80", b"\xff", b"\xc3\xa9",
                  b"\xed\xa0\x80", b"\xef\xbb\xbf", b"1e400", b"1e-400", b"-0", b"00", b'{"a":1,']
        lines, expected, refused = [], [], 0
        for _ in range(6000):
            text = bytearray(self.random.text(self.random.value(depth=1)))
            for _ in range(self.random.randrange(4)):
                at = self.random.randrange(len(text) + 1)
                text[at:at + self.random.randrange(3)] = self.random.choice(pieces)
            lines.append(["json", bytes(text)])
            try:
                expected.append(compact(json.loads(text.decode())))
            except ValueError:
                expected.append("-")
                refused += 1
        self.assertGreater(refused, 1000)
        self.assertGreater(len(lines) - refused, 1000)
        self.check(lines, expected)

    def test_numbers(self):
        numbers = [self.random.real() for _ in range(5000)]
        numbers += [float("1e%d" % e) for e in range(-330, 309)]
        texts = [json.dumps(number) for number in numbers]
        # And digits that Python would not write.
        texts += ["%d.%de%d" % (self.random.randrange(1000), self.random.getrandbits(90),
                                self.random.randrange(-345, 330)) for _ in range(5000)]
        self.check([["json", text.encode()] for text in texts],
                   [compact(json.loads(text)) for text in texts])

    def test_info_files(self):
        logdirs = [self.random.bytes_of_a_path() for _ in range(500)]
        expected = [json.dumps({"version": "", "start_time": 0, "pid": 0, "port": 0,
                                "path_prefix": "", "logdir": logdir.decode(*_LIKE_PATHS), "db": "",
                                "cache_key": ""}, sort_keys=True, indent=4) + "\n"
                    for logdir in logdirs]
        self.check([["info", logdir] for logdir in logdirs],
                   [text.encode().hex() for text in expected])


if __name__ == "__main__":
    xml_runner.main()
