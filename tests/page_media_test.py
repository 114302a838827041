"""The page's images, sounds, texts, histograms, curves, meshes and tables in a real browser."""

import io
import json
import math
import os
import struct
import wave
import zlib

from bazel.python import xml_runner
from tests import event_records, page_case

HOSTILE = "<img src=x onerror=alert(1)> [x](javascript:alert(1)) **bold** [site](https://example.org)"
STEPS = range(0, 50, 10)


def png(width, height, colour):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    rows = b"".join(b"\0" + bytes(colour) * width for _ in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def wav():
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(i / 5))) for i in range(4000)))
    return file.getvalue()


def plugin(name):
    return event_records.field(9, event_records.field(1, event_records.field(1, name)))


def tensor(dtype, shape, content):
    sizes = b"".join(event_records.field(2, event_records.field(1, size)) for size in shape)
    return event_records.field(8, event_records.field(1, dtype) + event_records.field(2, sizes) + content)


def floats(shape, numbers):
    return tensor(1, shape, event_records.field(4, struct.pack("<%df" % len(numbers), *numbers)))


def strings(shape, texts):
    return tensor(7, shape, b"".join(event_records.field(8, text) for text in texts))


def histogram(step):
    limits = [i / 10 + step / 20 for i in range(-20, 21)]
    counts = [1000 * math.exp(-(i / 10) ** 2 * 2) for i in range(-20, 21)]

    def packed(number, values):
        return event_records.field(number, struct.pack("<%dd" % len(values), *values))
    sums = struct.pack("<BdBdBdBd", 0x09, limits[0] - 0.1, 0x11, limits[-1], 0x19, sum(counts), 0x21, 0.05 * step * sum(counts))
    return event_records.field(5, sums + packed(6, limits) + packed(7, counts))


def media(step):
    """Values of every kind, at a step."""
    shade = 4 * step
    curve = [[50 - i for i in range(11)], [20 * (1 - i / 10) for i in range(11)], [20 * i / 10 for i in range(11)], list(range(11))]
    curve += [[(0.5 + step / 200) * (0.8 + 0.02 * i) for i in range(11)], [1 - i / 10 for i in range(11)]]
    corners = [(0, 0, 0), (1, 0, 0), (0.5, 0.9, 0), (0.5, 0.3, 0.8)]
    return (
        ("samples/digit", event_records.field(4, event_records.field(1, 24) + event_records.field(2, 32) + event_records.field(3, 3) + event_records.field(4, png(32, 24, (shade, 90, 200 - shade))))),
        ("samples/pair", plugin(b"images") + strings([4], [b"16", b"16", png(16, 16, (200, shade, 0)), png(16, 16, (0, shade, 200))])),
        ("sound", event_records.field(6, struct.pack("<Bf", 0x0D, 8000.0) + event_records.field(2, 1) + event_records.field(3, 4000) + event_records.field(4, wav()) + event_records.field(5, b"audio/wav"))),
        ("notes", plugin(b"text") + strings([], [("# At step %d\n\n- %s\n- second\n\n| a | b |\n|---|---|\n| 1 | `two` |" % (step, HOSTILE)).encode()])),
        ("cells", plugin(b"text") + strings([2, 2], [b"one", b"*two*", b"three", b"four"])),
        ("weights", histogram(step)),
        ("pr", plugin(b"pr_curves") + floats([6, 11], [x for row in curve for x in row])),
        ("body_VERTEX", plugin(b"mesh") + floats([1, 4, 3], [x for corner in corners for x in corner])),
        ("body_FACE", plugin(b"mesh") + tensor(3, [1, 4, 3], event_records.field(4, struct.pack("<12i", 0, 1, 2, 0, 1, 3, 1, 2, 3, 0, 2, 3)))),
        ("confusion", plugin(b"tensor") + floats([3, 3], [step, 1, 2, 3, 4, float("nan"), 6, 7, 8])),
    )


def double(number, value):
    return struct.pack("<Bd", number << 3 | 1, value)


def mindspore(step):
    """A summary with each kind of value that MindSpore writes."""
    field = event_records.field

    def axis(numbers, *dims):
        return b"".join(field(1, size) for size in dims) + field(2, 11) + b"".join(struct.pack("<Bf", 0x1D, one) for one in numbers)

    def points(x, y, z, *dims):
        return b"".join(field(number, axis(numbers, *dims)) for number, numbers in ((1, x), (2, y), (3, z)))
    places = [(x - 2, y - 1.5) for y in range(4) for x in range(5)]
    surface = points([x for x, _ in places], [y for _, y in places], [x * x + y * y for x, y in places], 4, 5)
    path = field(1, b"\0\1\2") + field(2, points([-2, -1, 0.1], [1.5, 0.5, 0], [6.25, 1.25, 0.01], 3))
    picture = field(1, 24) + field(2, 32) + field(3, 3) + field(4, png(32, 24, (4 * step, 90, 200)))
    buckets = b"".join(field(1, double(1, i / 2) + double(2, 0.5) + field(3, 4 + i)) for i in range(6))
    values = (("loss", struct.pack("<Bf", 0x1D, 1 / (step + 1))), ("picture", field(4, picture)), ("weights", field(8, axis([1, 2, 3, 4, 5, 6], 2, 3))),
              ("spread", field(9, buckets + double(5, 3) + double(6, 0) + field(8, 39))),
              ("surface", field(10, field(1, surface) + field(2, path) + field(3, field(1, b"PCA") + field(2, b"epoch") + field(3, 5)) + field(4, points([0], [0], [0], 1)))))
    return field(5, b"".join(field(1, field(1, tag.encode()) + fields) for tag, fields in values))


class PageMediaTest(page_case.PageCase):
    up_words = ("--logdir", "runs")

    @classmethod
    def prepare(cls):
        for run, shift in (("left", 0), ("right", 5)):
            directory = os.path.join(cls.directory, "runs", run)
            os.makedirs(directory)
            with open(directory + "/events.out.tfevents.1", "wb") as file:
                for step in STEPS:
                    for tag, fields in media(step + shift):
                        file.write(event_records.event(step, event_records.value(tag.encode(), fields), 1.7e9 + step))
                file.write(event_records.point(40))
        cls.write_layout()
        for name in ("tensorflow", "tensorboardx"):
            os.makedirs(os.path.join(cls.directory, "runs", name))
            with open("eventlog/testing/golden/%s.tfevents" % name, "rb") as source, open(os.path.join(cls.directory, "runs", name, "events.out.tfevents.1"), "wb") as file:
                file.write(source.read())
        os.makedirs(os.path.join(cls.directory, "runs", "mindspore"))
        with open(os.path.join(cls.directory, "runs/mindspore/train.out.events.summary.1700000000.1.host_MS"), "wb") as file:
            for step in STEPS:
                file.write(event_records.event(step, mindspore(step), 1.7e9 + step))
        cls._services("call", "datamanager", "Reload", "{}")

    @classmethod
    def write_layout(cls):
        field = event_records.field
        several = field(1, b"both") + field(2, field(1, b"^acc/") + field(1, b"("))
        margin = field(1, b"margin") + field(3, field(1, field(1, b"mean") + field(2, b"low") + field(3, b"high")))
        nothing = field(1, b"nothing") + field(2, field(1, b"no such tag"))
        layout = field(2, field(1, b"training") + b"".join(field(2, chart) for chart in (several, margin, nothing)))
        os.makedirs(os.path.join(cls.directory, "runs/custom"))
        with open(os.path.join(cls.directory, "runs/custom/events.out.tfevents.1"), "wb") as file:
            file.write(event_records.event(0, event_records.value(b"custom_scalars__config__", plugin(b"custom_scalars") + strings([], [layout]))))
            file.write(event_records.event(0, event_records.value(b"unended", plugin(b"text") + strings([], [b"[a](bb" * 3000 + b"[" * 40000]))))
            for step in range(10):
                file.write(event_records.event(step, event_records.value(b"large", plugin(b"tensor") + floats([100, 1000], [step + 0.125] * 100000)), 1.7e9 + step))
            for step in range(20):
                for tag, value in ((b"acc/train", 1 - 1 / (step + 1)), (b"acc/val", 0.9 - 1 / (step + 1)), (b"mean", step), (b"low", step - 1), (b"high", step + 2)):
                    file.write(event_records.event(step, event_records.value(tag, struct.pack("<Bf", 0x15, value)), 1.7e9 + step))

    _CARD = "[...document.querySelectorAll('figure.card')].find(one => one.querySelector('figcaption b').textContent === %s)"

    def card(self, tag):
        return self._CARD % json.dumps(tag)

    def open_media(self, run="left"):
        self.go("/", "document.querySelector('.services')")
        self.page.resize(1280, 3000)  # The page reads cards that are far below later.
        self.go("/run/%s?tab=media" % run, "document.querySelector('.media .card')")

    def slide(self, tag, place):
        self.page.evaluate("(() => { const at = %s.querySelector('input[type=range]'); at.value = %d; at.dispatchEvent(new Event('input', {bubbles: true})); })()" % (self.card(tag), place))

    # The colour in the middle of a picture.
    _PIXEL = ("(() => { const image = %s.querySelector('img'), canvas = document.createElement('canvas'), c = canvas.getContext('2d');"
              "if (!image || !image.complete || !image.naturalWidth) return ''; c.drawImage(image, 0, 0, 1, 1); return String([...c.getImageData(0, 0, 1, 1).data].slice(0, 3)); })()")

    def test_an_image_is_that_of_the_step(self):
        self.open_media()
        self.page.wait("(%s || document).querySelector('img')" % self.card("samples/digit"))
        self.page.wait("%s === '160,90,40'" % (self._PIXEL % self.card("samples/digit")))
        self.slide("samples/digit", 1)
        self.page.wait("%s.textContent.includes('step 10')" % self.card("samples/digit"))
        self.page.wait("%s.querySelector('img').alt.endsWith('step 10')" % self.card("samples/digit"))
        self.page.wait("%s === '40,90,160'" % (self._PIXEL % self.card("samples/digit")))
        self.page.wait("%s.querySelectorAll('img').length === 2" % self.card("samples/pair"))

    def test_each_kind_is_shown(self):
        self.open_media()
        self.page.wait("%s && %s.querySelector('audio')" % (self.card("sound"), self.card("sound")))
        self.assertEqual(self.page.evaluate("new Promise(done => { const a = %s.querySelector('audio'); a.onloadedmetadata = () => done(a.duration); a.onerror = () => done(a.error.message); a.load(); })"
                                            % self.card("sound")), 0.5)
        self.page.wait("%s.querySelector('.md table')" % self.card("notes"))
        self.assertEqual(self.page.evaluate("[...%s.querySelectorAll('.md a')].map(a => a.href)" % self.card("notes")), ["https://example.org/"])
        self.assertEqual(self.page.evaluate("%s.querySelectorAll('img').length" % self.card("notes")), 0)
        self.assertIn("<img src=x onerror=alert(1)>", self.page.evaluate("%s.textContent" % self.card("notes")))
        self.assertIn("At step 40", self.page.evaluate("%s.textContent" % self.card("notes")))
        self.page.wait("%s.querySelectorAll('td').length === 4" % self.card("cells"))
        self.page.wait("%s.querySelectorAll('canvas').length === 2" % self.card("weights"))
        self.assertIn("middle one about 1.", self.page.evaluate("%s.querySelector('canvas').ariaLabel" % self.card("weights")))
        self.page.wait("%s.querySelector('canvas')" % self.card("pr"))
        self.page.wait("%s.textContent.includes('4 points, 4 faces')" % self.card("body"))
        self.page.wait("%s.textContent.includes('▲ 1 not finite')" % self.card("confusion"))
        self.page.wait("%s.querySelector('td').textContent === '40'" % self.card("confusion"))
        self.picture("media", whole=True)

    def test_a_part_of_a_table(self):
        self.open_media()
        self.page.wait("%s && %s.querySelector('input[placeholder]')" % (self.card("confusion"), self.card("confusion")))
        self.page.evaluate("(() => { const at = %s.querySelector('input[placeholder]'); at.value = '[1, :]'; at.dispatchEvent(new Event('change', {bubbles: true})); })()" % self.card("confusion"))
        self.page.wait("[...%s.querySelectorAll('td')].map(td => td.textContent).join() === '3,4,NaN'" % self.card("confusion"))

    def test_runs_side_by_side(self):
        self.page.resize(1280, 3000)
        self.go("/compare?runs=left,right&tab=media", "document.querySelector('.media .card')")
        self.page.wait("%s.querySelectorAll('.panel img').length === 2" % self.card("samples/digit"))
        self.page.wait("%s.querySelectorAll('canvas').length === 4" % self.card("weights"))
        self.slide("samples/digit", 0)
        self.page.wait("[...%s.querySelectorAll('img')].map(one => one.alt).join() === 'samples/digit of left at step 0,samples/digit of right at step 0'" % self.card("samples/digit"))
        self.picture("media-of-two", whole=True)

    def test_a_mesh_turns(self):
        self.open_media()
        self.page.wait("%s && %s.querySelector('.mesh canvas')" % (self.card("body"), self.card("body")))
        self.page.wait("(c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(Boolean))(%s.querySelector('canvas'))" % self.card("body"))
        pixels = "(() => { const c = %s.querySelector('canvas'); return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.reduce((sum, one, i) => (sum * 31 + one) %% 1e9, 0); })()" % self.card("body")
        before = self.page.evaluate(pixels)
        self.page.evaluate("%s.querySelector('.mesh').focus()" % self.card("body"))
        self.page.key("ArrowLeft")
        self.page.wait("%s !== %s" % (pixels, before))

    def test_what_mindspore_wrote(self):
        self.open_media("mindspore")
        for tag in ("picture/image", "weights/tensor", "spread/histogram", "surface/loss_landscape"):
            self.page.wait("(%s || document).querySelector('.panel > *')" % self.card(tag))
        surface = self.card("surface/loss_landscape")
        # (The canvas is there before the frame in which it is drawn.)
        self.page.wait("(canvas => canvas && canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean))((%s || document).querySelector('canvas'))" % surface)
        self.assertIn("a loss landscape of 4 by 5 places, 0.25 to 6.25", self.page.evaluate("%s.innerHTML" % surface))
        # The least loss is drawn darkest: the middle of the lowest place beside a corner; and the path is there.
        shade, path = json.loads(self.page.evaluate("""(() => {
          const canvas = %s.querySelector('canvas'), ratio = canvas.width / canvas.clientWidth, context = canvas.getContext('2d');
          const alpha = (x, y) => context.getImageData(x * ratio, y * ratio, 1, 1).data[3];
          const wide = (canvas.clientWidth - 20) / 5, tall = (canvas.clientHeight - 20) / 4;
          const all = context.getImageData(0, 0, canvas.width, canvas.height).data, link = context.getImageData((10 + wide * 4.5) * ratio, (10 + tall * 0.5) * ratio, 1, 1).data;
          let red = 0;
          for (let i = 0; i < all.length; i += 4) red += all[i + 3] > 200 && all[i] > all[i + 2] + 60;
          return JSON.stringify([[alpha(10 + wide * 2.5, 10 + tall * 2.8), link[3]], red]);
        })()""" % surface))
        self.assertGreater(shade[0], shade[1] + 100)
        self.assertGreater(path, 20)
        self.page.wait("document.querySelector('.panel .error') === null")
        self.picture("media-mindspore", whole=True)

    def test_a_slider_goes_by_keys(self):
        self.open_media()
        self.page.wait("(%s || document).querySelector('img')" % self.card("samples/digit"))
        self.page.evaluate("%s.querySelector('input[type=range]').focus()" % self.card("samples/digit"))
        self.page.key("ArrowLeft")
        self.page.wait("%s.textContent.includes('step 30')" % self.card("samples/digit"))

    def test_a_text_that_never_ends_a_link_is_shown_soon(self):
        self.page.resize(1280, 3000)
        self.go("/run/custom?tab=media", "(%s || document).querySelector('.md')" % self.card("unended"))

    def test_the_newest_of_many_large_values_are_shown(self):
        self.page.resize(1280, 3000)
        self.go("/run/custom?tab=media", "(%s || document).querySelector('.numbers td')" % self.card("large"))
        self.page.wait("%s.textContent.includes('step 9')" % self.card("large"))
        self.assertRegex(self.page.evaluate("%s.textContent.slice(-50)" % self.card("large")), r"the newest \d+ of 10$")

    def test_charts_of_a_layout(self):
        self.page.resize(1280, 1200)
        self.go("/run/custom", "document.querySelector('.plot canvas')")
        for title, tags in (("both", ["acc/train", "acc/val"]), ("margin", ["mean", "low", "high"])):
            self.page.wait("(%s || document).querySelectorAll('.legend .name').length === %d" % (self.card(title), len(tags)))
            self.assertEqual(self.page.evaluate("[...%s.querySelectorAll('.legend .name')].map(one => one.textContent)" % self.card(title)), tags)
        self.assertIn("nothing: no such tag has points", self.text())
        self.assertEqual(self.page.evaluate("[...document.querySelectorAll('summary')][0].textContent"), "training 3")
        self.picture("custom")

    def test_what_other_writers_wrote(self):
        for run in ("tensorflow", "tensorboardx"):
            self.open_media(run)
            for tag in ("image", "audio", "text", "histogram", "pr/pr_curves" if run == "tensorflow" else "pr", "mesh"):
                self.page.wait("(%s || document).querySelector('.panel > *')" % self.card(tag))
            self.page.wait("%s.querySelectorAll('img').length >= 1" % self.card("image"))
            self.page.wait("document.querySelector('.panel .error') === null")
            self.picture("media-" + run, whole=True)


if __name__ == "__main__":
    xml_runner.main()
