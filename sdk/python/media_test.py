"""Media as the web service answers with them: pages, every kind, what is no medium. (With a yard: tests/reading_test.py.)"""

import os
import sys
import unittest

_HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [_HERE]
import xml_runner
from yard import media


def blob(step, name, **more):
    return {"kind": "blob", "step": step, "time": 7.5, "file": name, "offset": 3, "length": 4, "crc": 5, **more}


class FakeRun:
    """Answers as the web service does, with at most `at_once` values at a time."""

    def __init__(self, values, at_once=10**6):
        self.values = values  # {tag: (plugin, [values of a step, ...])}
        self.at_once = at_once
        self.asked = []

    def ask(self, what, asked):
        asked = dict(asked)
        if what == "tags":
            return {"tags": [{"tag": tag, "plugin": plugin, "scalar": plugin == "scalars"} for tag, (plugin, _) in self.values.items()]}
        steps = self.values[asked["tag"]][1]
        first = int(asked["first"])
        count = min(int(asked["limit"]), self.at_once)
        self.asked.append((asked["tag"], first))
        wanted = steps[first:first + int(asked["limit"])]
        return {"total": len(steps), "more": len(wanted) > count, "values": [value for values in wanted[:count] for value in values]}

    def fetch(self, what, asked):
        assert what == "blob", what
        asked = dict(asked)
        return asked["file"].replace("-", "/"), ("%(offset)s %(length)s %(crc)s" % asked).encode()

    def read(self, tag=None):
        return list(media.read_media(self.ask, self.fetch, tag))


class MediaTest(unittest.TestCase):

    def test_each_kind(self):
        tensor = {"kind": "tensor", "time": 7.5, "shape": [2], "numbers": [1, "NaN"]}
        run = FakeRun({
            "picture": ("images", [[blob(1, "image-png"), blob(1, "image-png")]]), "tone": ("audio", [[blob(2, "audio-wav")]]),
            "other": ("mine", [[blob(3, "application-octet-stream")]]),
            "note": ("text", [[{"kind": "tensor", "step": 4, "time": 7.5, "shape": [2], "strings": ["a", "b"]}]]),
            "bars": ("histograms", [[{"kind": "histogram", "step": 5, "time": 7.5, "lefts": [0, 1], "rights": [1, 2], "counts": [0, 3]}]]),
            "table": ("tensor", [[{**tensor, "step": 6}]]), "map": ("loss_landscape", [[{"kind": "landscape", "step": 7, "time": 7.5}]]),
            "loss": ("scalars", []), "graph": ("graphs", []), "settings": ("hparams", [])})
        found = run.read()
        self.assertEqual([(one.tag, one.step, one.kind) for one in found], [
            ("bars", 5, "histogram"), ("note", 4, "text"), ("note", 4, "text"), ("other", 3, "blob"), ("picture", 1, "image"),
            ("picture", 1, "image"), ("table", 6, "tensor"), ("tone", 2, "audio")])
        self.assertEqual({one.time for one in found}, {7.5})
        self.assertEqual(found[0].data, [(1, 2, 3)])
        self.assertEqual([one.data for one in found[1:3]], ["a", "b"])
        self.assertEqual(found[4].data, b"3 4 5")
        self.assertEqual((found[6].data[0], found[6].data[1][0], str(found[6].data[1][1])), ((2,), 1, "nan"))

    def test_a_tensor_that_is_cut_is_asked_for_in_parts(self):
        numbers = list(range(250000))

        def ask(what, asked):
            asked = dict(asked)
            if what == "tags":
                return {"tags": [{"tag": "big", "plugin": "tensor", "scalar": False}]}
            begin, end = [int(part) for part in asked["slice"][1:-1].split(":")] if "slice" in asked else (0, 25000)
            part = numbers[10 * begin:10 * end][:100000]
            value = {"kind": "tensor", "step": 1, "time": 7.5, "shape": [25000, 10], "numbers": part, "cut": "slice" not in asked}
            return {"total": 1, "more": False, "values": [value]}

        (found,) = media.read_media(ask, None)
        self.assertEqual(found.data, ((25000, 10), numbers))

    def test_what_is_left_out_is_named(self):
        run = FakeRun({"a": ("images", [[{**blob(1, "image-png"), "length": 1 << 30}, blob(1, "image-png")]])})
        with self.assertWarnsRegex(UserWarning, "a at step 1 has 1073741824 bytes"):
            self.assertEqual(len(run.read()), 1)
        ask = run.ask
        run.ask = lambda what, asked: {**ask(what, asked), "refused": 2, "why_refused": "step 3: damaged"}
        run.values = {"a": ("images", [[blob(1, "image-png")]])}
        with self.assertWarnsRegex(UserWarning, "2 values of a cannot be read: step 3: damaged"):
            self.assertEqual(len(run.read()), 1)

    def test_only_that_tag(self):
        run = FakeRun({"a": ("images", [[blob(1, "image-png")]]), "b": ("images", [[blob(2, "image-png")]])})
        self.assertEqual([one.step for one in run.read("b")], [2])
        self.assertEqual(run.asked, [("b", 0)])
        self.assertEqual(run.read("c"), [])

    def test_every_page_is_asked_for_once(self):
        for at_once in (10**6, 7):
            run = FakeRun({"a": ("images", [[blob(step, "image-png"), blob(step, "image-png")] for step in range(450)])}, at_once)
            self.assertEqual([one.step for one in run.read()], [step for step in range(450) for _ in range(2)])
            if at_once == 10**6:
                self.assertEqual(run.asked, [("a", 0), ("a", 200), ("a", 400)])
            else:
                self.assertEqual(run.asked[:5], [("a", 0), ("a", 0), ("a", 0), ("a", 0), ("a", 3)])


if __name__ == "__main__":
    xml_runner.main()
