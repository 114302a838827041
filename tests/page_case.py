"""Test cases with the page of a yard of their own in a real browser."""

import json
import os
import unittest

from tests import browser, yard_case

# Elements that stick out.
_WIDE = ("[...document.querySelectorAll('main *')].filter(one => one.getBoundingClientRect().right > %d)"
         ".slice(0, 5).map(one => one.outerHTML.slice(0, 200)).join('\\n')")


class PageCase(yard_case.YardCase):
    """`page` is open at Home. `prepare` begins the trials that a class shows there. Each case ends without a trouble of the page."""

    @classmethod
    def setUpClass(cls):
        if not os.path.exists(browser.PROGRAM):
            what = "there is no %s: tools/setup installs it" % browser.PROGRAM
            raise AssertionError(what) if os.environ.get("CI") else unittest.SkipTest(what)
        super().setUpClass()
        cls.pictures = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR", cls.directory)
        cls.prepare()
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)
        cls.page = cls.browser.page()
        cls.page.open(cls._address())
        cls.page.wait("document.querySelector('.services')")

    @classmethod
    def prepare(cls):
        pass

    @classmethod
    def _run_yard(cls, *words):
        """A command whose end is waited for, whatever it is."""
        return yard_case.subprocess.run(
            [cls.yard_program, *words], cwd=cls.directory, env=cls.environment, stdin=yard_case.subprocess.DEVNULL,
            stdout=yard_case.subprocess.PIPE, timeout=yard_case.LONG, check=False).stdout

    @classmethod
    def _address(cls):
        return json.loads(cls._run_yard("ui", "--json"))["address"]

    def tearDown(self):
        self.assertEqual(self.page.troubles(), [])

    def go(self, path, ready):
        self.page.evaluate("history.pushState(null, '', %s); dispatchEvent(new Event('navigate'))" % json.dumps(path))
        self.page.wait(ready)

    def text(self):
        return self.page.evaluate("document.body.innerText")

    def picture(self, name, whole=False, high=800):
        """In light and dark, wide and narrow; `whole`: as high as the page is. Each view has one heading of the first level."""
        self.assertEqual(self.page.evaluate("document.querySelectorAll('h1').length"), 1)
        for theme in ("light", "dark"):
            for width, height in ((1280, high), (390, high)):
                self.page.theme(theme)
                self.page.resize(width, height)
                if whole:
                    self.page.resize(width, min(6000, self.page.evaluate("document.documentElement.scrollHeight")))
                self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
                self.page.picture(os.path.join(self.pictures, "%s-%s-%d.png" % (name, theme, width)))
                wide = self.page.evaluate("document.documentElement.scrollWidth")
                self.assertLessEqual(wide, width, "%s is too wide: %s" % (name, wide > width and self.page.evaluate(_WIDE % width)))
        self.page.theme("light")
        self.page.resize(1280, 800)
