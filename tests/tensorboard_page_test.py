"""The page of the real TensorBoard over our data server, in a browser: what a choice of 1,000 points must not lose is to be seen."""

import base64
import json
import os
import random
import unittest

from bazel.python import xml_runner
from tests import browser, data_server_test

STEPS, UP, DOWN, HEIGHT = 50_000, 12_345, 33_333, 100
INSIDE = """const inside = node => [...node.querySelectorAll('*')].flatMap(e => [e, ...(e.shadowRoot ? inside(e.shadowRoot) : [])]);"""
SHOW_OUTLIERS = """(() => {
    %s
    const box = inside(document).find(e => e.tagName == 'PAPER-CHECKBOX' && e.innerText.includes('Ignore outliers'));
    if (box) box.click();
})()""" % INSIDE
# The rectangle of the chart in which something is drawn.
CHARTS = {
    "scalars": """(() => {
        %s
        const path = inside(document).find(e => e.tagName == 'path' && e.getAttribute('d')?.length > 5000);
        const at = path && path.ownerSVGElement.getBoundingClientRect();
        return at && [at.x, at.y, at.width, at.height];
    })()""" % INSIDE,
    "timeseries": """(() => {
        const canvas = document.querySelector('line-chart canvas');
        const at = canvas && canvas.getBoundingClientRect();
        return at && at.width && [at.x, at.y, at.width, at.height];
    })()""",
}
# Columns of a rectangle of a picture in which something coloured is more than a quarter of its height above or below
# its middle: [where from the left, as a part of the width; 1 above, -1 below].
COLUMNS = """(async (picture, [x, y, width, height]) => {
    const image = new Image();
    image.src = 'data:image/png;base64,' + picture;
    await image.decode();
    const context = Object.assign(document.createElement('canvas'), {width: image.width, height: image.height}).getContext('2d');
    context.drawImage(image, 0, 0);
    const found = [];
    for (let i = 1; i < width - 1; ++i) {
        const column = context.getImageData(Math.round(x) + i, Math.round(y), 1, Math.round(height)).data;
        for (let j = 0; j < height; ++j) {
            const [r, g, b] = column.slice(4 * j, 4 * j + 3);
            const above = 0.5 - j / height;
            if (Math.max(r, g, b) - Math.min(r, g, b) < 12 || Math.abs(above) < 0.25) continue;
            found.push([i / width, Math.sign(above)]);
            break;
        }
    }
    return found;
})(%s, %s)"""


class TensorBoardPageTest(data_server_test.PeerCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not os.path.exists(browser.PROGRAM):
            what = "there is no %s: tools/setup installs it" % browser.PROGRAM
            raise AssertionError(what) if os.environ.get("CI") else unittest.SkipTest(what)
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def columns(self, tab):
        """The columns of the tab's chart that its spikes reach, once it is drawn."""
        other = self.browser.page()
        page = self.browser.page()  # (The last one is in front; what is behind it draws nothing.)
        page.open(self.page)
        page.wait("document.readyState == 'complete'")
        # Both tabs leave outliers out of sight, unless they are told not to: by the setting, and by the box.
        page.evaluate("localStorage.setItem('_tb_global_settings', JSON.stringify({ignoreOutliers: false}))")
        page.open("about:blank")
        page.open(self.page + "#" + tab)
        page.wait(CHARTS[tab])
        page.evaluate(SHOW_OUTLIERS)
        path = os.path.join(os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR", self.directory), tab + ".png")
        found = []

        def is_drawn():
            page.picture(path)
            with open(path, "rb") as picture:
                shown = base64.b64encode(picture.read()).decode()
            found[:] = other.evaluate(COLUMNS % (json.dumps(shown), json.dumps(page.evaluate(CHARTS[tab]))))
            return len({sign for _, sign in found}) == 2

        self.await_true(is_drawn, "not two spikes in " + tab)
        return found

    def test_both_spikes_of_a_hostile_curve_are_seen(self):
        values = random.Random(1)
        self.write_run("hostile", [
            (step, HEIGHT if step == UP else -HEIGHT if step == DOWN else values.gauss(0, 1)) for step in range(STEPS)])
        self.start_tensorboard()
        self.page = self.url.removesuffix("data/")
        self.await_true(lambda: self.ask("runs") == ["hostile"], "no run")
        for tab in CHARTS:
            found = self.columns(tab)
            for sign, step in ((1, UP), (-1, DOWN)):
                places = [place for place, which in found if which == sign]
                # A needle where it belongs: the chart has some room at both sides.
                self.assertLess(max(places) - min(places), 0.04, (tab, found))
                self.assertAlmostEqual(places[0], 0.08 + 0.84 * step / STEPS, delta=0.05, msg=(tab, found))


if __name__ == "__main__":
    xml_runner.main()
