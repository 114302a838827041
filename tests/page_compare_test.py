"""The page's comparison of runs in a real browser: what differs, curves and their groups, output by step, code."""

import json
import os

from bazel.python import xml_runner
from tests import page_case, yard_case

HOSTILE = "<img src=x onerror=alert(1)>"
PROGRAM = r"""
import json, os, sys, time
channel = os.fdopen(3, "r+b", buffering=0)
def report(**metrics):
    channel.write(json.dumps({"t": "report", "m": metrics}).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"): answer += channel.read(1)
level, seed = float(sys.argv[1]), int(sys.argv[2])
for i in range(60):
    report(loss=level + seed, accuracy=1 - level / (i + 1))
    if i % 20 == 19:
        print("after step %d <b>" % i, flush=True)
        time.sleep(1.2)
"""


class PageCompareTest(page_case.PageCase):
    @classmethod
    def prepare(cls):
        def git(*words):
            yard_case.subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=cls.directory + "/code", env=cls.environment,
                                     stdout=yard_case.subprocess.DEVNULL, check=True)
        os.mkdir(cls.directory + "/code")
        cls.write("code/train.py", PROGRAM)
        git("init", "-q")
        git("add", ".")
        git("commit", "-qm", "first")
        for name, level, seed in (("a-1", 1, 1), ("a-3", 1, 3), ("b-1", 5, 1)):
            if name == "b-1":
                cls.write("code/train.py", PROGRAM.replace("level + seed", "seed + level"))
            yard_case.subprocess.run(
                [cls.yard_program, "run", "--name", name, "--config", json.dumps({"lr": level, "seed": seed, "same": 7, "text": HOSTILE if seed == 3 else "x"}),
                 "--", "python3", "train.py", str(level), str(seed)], cwd=cls.directory + "/code", stdin=yard_case.subprocess.DEVNULL,
                env={**cls.environment, **({"ONLY_B": "secret"} if name == "b-1" else {})}, stdout=yard_case.subprocess.DEVNULL, check=True, timeout=yard_case.LONG)
        cls._services("call", "datamanager", "Reload", "{}")

    @classmethod
    def write(cls, path, text):
        with open(os.path.join(cls.directory, path), "w", encoding="utf-8") as file:
            file.write(text)

    # The cells of a row of differences, by its name.
    _CELLS = "([...document.querySelectorAll('.differences tbody tr')].find(row => row.cells.length > 1 && row.cells[0].textContent === %s) || {cells: []}).cells"

    def cells(self, name):
        return self.page.evaluate("[...%s].slice(1).map(cell => cell.textContent.trim())" % (self._CELLS % json.dumps(name)))

    def test_only_what_differs_is_shown(self):
        self.go("/compare?runs=a-1,a-3,b-1", "document.querySelector('.differences')")
        self.assertEqual(self.cells("config.lr"), ["1", "1", "5"])
        self.assertEqual(self.cells("config.text"), ["x", HOSTILE, "x"])
        self.assertEqual(self.page.evaluate("document.querySelectorAll('main img').length"), 0)
        self.assertEqual(self.cells("config.same"), [])
        self.assertEqual(self.cells("loss"), ["2", "4", "6"])
        self.assertEqual(self.cells("ONLY_B"), ["–", "–", "set"])
        self.assertNotIn("secret", self.text())
        self.assertEqual(self.cells("commit"), [])
        self.assertEqual(self.cells("dirty"), ["false", "false", "true"])
        self.assertIn("python3 train.py 1 3", self.cells("command")[1])
        self.picture("compare", whole=True)
        self.page.evaluate("document.querySelector('.bar input[type=checkbox]').click()")
        self.page.wait("location.search.includes('all=1')")
        self.assertEqual(self.cells("config.same"), ["7", "7", "7"])
        self.assertEqual(len(set(self.cells("commit"))), 1)

    def test_runs_of_the_same_setting_are_a_group(self):
        self.go("/compare?runs=a-1,a-3,b-1&group=config.lr", "document.querySelector('section[aria-label=groups]')")
        self.assertEqual(self.cells("loss"), ["3 ± 1.4", "6"])
        # The command line says the same.
        rows = map(json.loads, self.yard("compare", "a-1", "a-3", "b-1", "--group", "config.lr", "--tags", "loss", "--json")[0].splitlines())
        self.assertEqual([(row["value"], row["runs"], row["mean"], row["deviation"] and round(row["deviation"], 4)) for row in rows],
                         [(1, ["a-1", "a-3"], 3, 1.4142), (5, ["b-1"], 6, None)])
        self.go("/compare?runs=a-1,a-3,b-1&group=config.lr&tab=curves", "document.querySelectorAll('figure .legend .name').length >= 4")
        figure = "[...document.querySelectorAll('figure')].find(f => f.querySelector('b').textContent === 'loss')"
        self.page.wait("(%s).querySelectorAll('.legend .value').length === 2" % figure)
        self.assertEqual(self.page.evaluate("[...(%s).querySelectorAll('.legend .value')].map(one => one.textContent)" % figure), ["3", "6"])
        # The band is filled, not only crossed by lines. (It is drawn in the frame behind the legend's.)
        self.page.wait(
            "(() => { const c = (%s).querySelector('canvas'), w = c.width; const row = c.getContext('2d').getImageData(70, Math.round(c.height * 0.45), w - 90, 1).data; "
            "return row.filter((v, i) => i %% 4 === 3 && v > 0).length / (w - 90) > 0.95; })()" % figure)
        self.picture("groups", whole=True)
        # Without groups each run is a curve again, at once.
        drawn = "(() => { const c = (%s).querySelector('canvas'); return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].join(); })()" % figure
        self.page.evaluate("(globalThis.grouped = %s).length" % drawn)
        self.page.evaluate("(() => { const one = document.querySelector('select[aria-label=\"group by\"]'); one.value = ''; "
                           "one.dispatchEvent(new Event('change', {bubbles: true})); })()")
        self.page.wait("(%s).querySelectorAll('.legend .value').length === 3" % figure)
        self.assertTrue(self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => "
                                           "done(%s !== globalThis.grouped))))" % drawn))
        self.go("/compare?runs=a-1,a-3,b-1&group=config.lr&tab=curves", "document.querySelectorAll('figure .legend .name').length >= 4")
        self.page.wait("(%s).querySelectorAll('.legend .value').length === 2" % figure)
        # The band is one standard deviation to either side.
        self.page.evaluate("(%s).querySelector('.tools button').click()" % figure)
        self.page.wait("document.querySelector('.numbers tbody tr')")
        row = self.page.evaluate("[...document.querySelector('.numbers tbody tr').cells].map(cell => cell.textContent)")
        self.assertEqual(row[4], "3")
        self.assertEqual(row[2:4], ["1.5858", "4.4142"])

    def test_curves_lie_over_each_other(self):
        self.go("/compare?runs=a-1,a-3,b-1&tab=curves&tags=acc", "document.querySelectorAll('figure').length === 1")
        self.page.wait("document.querySelectorAll('figure .legend .name').length === 3")
        self.picture("overlaid")

    def test_output_stands_by_its_steps(self):
        self.go("/compare?runs=a-1,b-1&tab=output", "document.querySelectorAll('.sides tbody tr').length >= 3")
        rows = self.page.evaluate("[...document.querySelectorAll('.sides tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))")
        # (The time of a line is known to a second, in which no step but its own was reported.)
        for step, *texts in rows:
            for text in filter(None, texts):
                self.assertLessEqual(abs(int(step) - int(text.split()[2])), 21, rows)
        self.assertEqual([text.count("after step") for text in (" ".join(row[1] for row in rows), " ".join(row[2] for row in rows))], [3, 3])
        self.picture("sides")
        self.go("/compare?runs=a-1,b-1&tab=output&grep=step%2019", "document.querySelectorAll('.sides tbody mark').length === 2")

    def test_code_is_compared(self):
        self.go("/compare?runs=a-1,b-1&tab=code", "document.querySelector('.diff')")
        diff = self.page.evaluate("document.querySelector('.diff').textContent")
        self.assertIn("+ -    report(loss=level + seed", diff)
        self.assertIn("+ +    report(loss=seed + level", diff)
        self.picture("code")

    def test_a_late_answer_for_fewer_runs_takes_nothing_away(self):
        self.go("/compare?runs=a-1,b-1&tab=code", "document.querySelector('.diff')")
        # Answers for one run alone come just when both are shown again: before anything else happens.
        self.page.evaluate("""(() => {
          const original = globalThis.fetch, held = [];
          globalThis.gone = 0;
          globalThis.fetch = async (...words) => {
            const response = await original(...words), value = await response.json();
            await new Promise(done => held.push(done));
            return {ok: true, json: async () => value};
          };
          globalThis.heldBack = () => held.length;
          new MutationObserver(() => {
            if (document.querySelector('.diff')) {
              globalThis.fetch = original;
              held.splice(0).forEach(done => done());
              globalThis.shown = true;
            } else if (globalThis.shown) {
              ++globalThis.gone;
            }
          }).observe(document.body, {childList: true, subtree: true});
        })()""")
        self.go("/compare?runs=b-1&tab=code", "document.querySelector('main .empty') && heldBack() === 2")
        self.go("/compare?runs=a-1,b-1&tab=code", "globalThis.shown")
        self.page.evaluate("new Promise(done => setTimeout(done, 300))")
        self.assertEqual(self.page.evaluate("globalThis.gone"), 0)

    def test_by_keys_alone(self):
        self.go("/runs?sel=a-1,b-1", "document.querySelector('.count a')")
        self.page.evaluate("document.querySelector('.count a').focus()")
        self.page.key("Enter", "\r")
        self.page.wait("location.pathname === '/compare' && document.querySelector('#tab-differences')")
        self.page.evaluate("document.getElementById('tab-differences').focus()")
        for tab in ("curves", "media", "output", "code", "differences"):
            self.page.key("ArrowRight")
            self.page.wait("document.activeElement.id === 'tab-%s'" % tab)
        self.page.evaluate("document.querySelector('.chosen button').focus()")
        self.page.key("Enter", "\r")
        self.page.wait("document.querySelector('main .empty')")


if __name__ == "__main__":
    xml_runner.main()
