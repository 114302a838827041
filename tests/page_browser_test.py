"""The page in a real browser: each view opened and used, in light and dark, wide and narrow."""

import csv
import io
import json
import os
import signal

from bazel.python import xml_runner
from tests import page_case, yard_case

HOSTILE = "<img src=x onerror=alert(1)>\u202e\"'&"
# Curves with a spike and a gap; output in colours, and some that wants to be markup.
PROGRAM = r"""
import json, math, os, sys
channel = os.fdopen(3, "r+b", buffering=0)
def report(**metrics):
    channel.write(json.dumps({"t": "report", "m": metrics}).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"): answer += channel.read(1)
seed, steps, end = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
for i in range(steps):
    loss = 2.5 * math.exp(-i / (20 + 6 * seed)) + 0.05 * math.sin(i * (1 + seed)) + 0.1
    if i == 37: loss = 3.4
    if i == 60 and seed == 1: loss = float("nan")
    metrics = {"train/loss": loss, "train/accuracy": 1 - math.exp(-i / 40) * 0.9, "eval/loss": loss * 1.1 + 0.02, "lr": 0.1 * 0.98 ** i}
    if seed == 2: metrics[os.environ["HOSTILE"]] = i
    report(**metrics)
    print("\x1b[32mstep\x1b[0m", i, "loss %.4f" % loss, "<b>not bold</b>")
if end == "fails":
    print("Traceback: the learning rate is wrong", file=sys.stderr); sys.exit(3)
if end == "stays":
    import time
    while True:
        report(**{"train/loss": 0.1, "train/accuracy": 0.97}); time.sleep(0.2)
"""


class PageBrowserTest(page_case.PageCase):
    # (The launcher finds two GPUs there.)
    variables = {"HOSTILE": HOSTILE, "LD_LIBRARY_PATH": os.path.abspath("launcher/gpu/testing"), "CUDA_VISIBLE_DEVICES": "1"}

    @classmethod
    def prepare(cls):
        with open(os.path.join(cls.directory, "train.py"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        for seed, steps, end, name in ((1, 120, "", "base"), (2, 120, "", "sweep/a"), (3, 90, "fails", "broken")):
            cls._trial(seed, steps, end, name)
        cls._trial(4, 60, "stays", "goes-on", "--detach")
        cls._services("call", "datamanager", "Reload", "{}")

    @classmethod
    def _trial(cls, seed, steps, end, name, *words):
        yard_case.subprocess.run(
            [cls.yard_program, "run", "--name", name.replace("/", "-"), "--config", json.dumps({"lr": 0.1 / seed, "net": {"depth": seed}}),
             *words, "--", "python3", "train.py", str(seed), str(steps), end], cwd=cls.directory, env=cls.environment,
            stdin=yard_case.subprocess.DEVNULL, stdout=yard_case.subprocess.DEVNULL, timeout=yard_case.LONG, check=False)

    # How many pixels of a chart's curves are drawn, by its tag.
    _INK = """(() => { const figure = [...document.querySelectorAll('figure')].find(f => f.querySelector('b').textContent === %s);
        if (!figure || !figure.querySelector('canvas')) return 0; const c = figure.querySelector('canvas');
        return c.getContext('2d').getImageData(60, 8, c.width - 72, c.height - 32).data.filter((v, i) => i %% 4 === 2 && v > 120).length; })()"""

    def await_ink(self, tag):
        self.page.wait("%s > 100" % (self._INK % json.dumps(tag)))

    def test_home(self):
        # (Another test looks at the failure that is there already.)
        self._trial(7, 3, "fails", "fails-too")
        self.go("/", "document.querySelector('.trials')")
        self.page.wait("document.querySelector('section[aria-label=alerts]')?.textContent.includes('fails-too')")
        self.page.wait("document.querySelector('section[aria-label=GPUs] tbody tr:nth-child(2)')")
        text = self.text()
        for word in ("registry", "launcher", "datamanager", "trainer", "web", "goes-on", "fails-too", "exit code 3",
                     "Fake GPU", "20 %", "2.0 GB of 16 GB", "51 °C", "102 W"):
            self.assertIn(word, text)
        self.picture("home")
        self.page.evaluate("[...document.querySelectorAll('button')].find(b => b.textContent === 'mark all as seen').click()")
        self.page.wait("!document.querySelector('.rows .failed')")

    def test_runs(self):
        self.go("/runs?cols=trial_state,updated,last_step,train/loss,config.lr", "document.querySelectorAll('[data-place]').length >= 4")
        self.await_ink("train/loss")
        self.picture("runs")
        # A query with an error, which is shown, and one without.
        self.go("/runs?q=train/loss%3C", "document.querySelector('.trouble')")
        self.assertIn("expected", self.text())
        self.go("/runs?q=config.lr%3E0.04&cols=train/loss,config.lr&sort=config.lr",
                "document.querySelectorAll('[data-place]').length === 2")
        names = "[...document.querySelectorAll('td.run')].map(td => td.textContent)"
        self.assertEqual(self.page.evaluate(names), ["sweep-a", "base"])
        self.page.evaluate("[...document.querySelectorAll('th button')].find(b => b.textContent.startsWith('config.lr')).click()")
        self.page.wait("%s[0] === 'base'" % names)
        # By keys alone: the query, then the table, then a run.
        self.page.evaluate("document.activeElement.blur()")
        self.page.key("/", "/")
        self.page.wait("document.activeElement.id === 'query'")
        self.page.evaluate("document.querySelector('[data-place=\"0\"]').focus()")
        self.page.key("ArrowDown")
        self.page.wait("document.activeElement.dataset.place === '1'")
        self.page.key(" ", " ")
        self.page.wait("location.search.includes('sel=sweep-a')")
        self.page.key("Enter")
        self.page.wait("location.pathname === '/run/sweep-a'")

    def test_system_curves_stand_beside_the_loss(self):
        self.go("/run/goes-on", "[...document.querySelectorAll('summary')].some(s => s.textContent.startsWith('sys '))")
        figure = "[...document.querySelectorAll('figure')].find(f => f.querySelector('b').textContent === '%s')"
        # They come by themselves, each few seconds; only what is near the screen is asked for.
        for tag in ("sys/cpu_percent", "sys/gpu0/memory_bytes", "sys/memory_bytes"):
            self.page.wait(figure % tag)
            self.page.evaluate((figure % tag) + ".scrollIntoView()")
            self.await_ink(tag)
        groups = self.page.evaluate("[...document.querySelectorAll('summary')].map(s => s.textContent.split(' ')[0])")
        self.assertEqual(groups[-1], "sys")
        self.assertIn("2 GB", self.page.evaluate((figure % "sys/gpu0/memory_bytes") + ".querySelector('.legend').textContent"))
        self.page.evaluate((figure % "sys/cpu_percent") + ".scrollIntoView()")
        self.picture("system")
        # The table of runs draws what programs report.
        self.go("/runs?q=name:goes-on", "document.querySelectorAll('figure').length > 0")
        self.assertEqual(self.page.evaluate("[...document.querySelectorAll('figure b')].filter(b => b.textContent.startsWith('sys/')).length"), 0)

    def test_many_runs_are_a_cloud(self):
        self.go("/runs?cloud=1&sel=base&pin=train/loss", "document.querySelector('.legend .faint')")
        self.await_ink("train/loss")
        self.picture("cloud")

    def test_run(self):
        self.go("/run/base", "document.querySelectorAll('figure').length === 4")
        self.await_ink("train/loss")
        self.assertIn("1 not finite", self.text())
        self.picture("run")
        # The curves have the colours of the theme, and the chosen tab is in sight.
        for theme, colour in (("dark", "rgb(78, 168, 255)"), ("light", "rgb(0, 114, 178)")):
            self.page.theme(theme)
            self.page.wait("getComputedStyle(document.querySelector('.legend i')).backgroundColor === '%s'" % colour)
        self.page.resize(390, 800)
        self.go("/run/base?tab=files", "document.querySelector('[role=tabpanel] table')")
        self.page.resize(300, 800)
        self.page.wait("(() => { const tab = document.getElementById('tab-files').getBoundingClientRect(); return tab.right <= innerWidth; })()")
        self.page.resize(1280, 800)
        self.go("/run/base?s=0.8&y=log&x=relative", "location.search.includes('x=relative')")
        self.await_ink("train/loss")
        self.picture("smooth")
        self.go("/run/base?tab=parameters", "document.querySelector('.pairs')")
        self.assertIn("net/depth", self.text())
        self.picture("parameters")
        for tab in ("attempts", "files"):
            self.go("/run/base?tab=" + tab, "document.querySelector('[role=tabpanel] table')")
            self.picture(tab)
        # Another metric is x: as many curves, and another axis.
        self.go("/run/base?x=m:train/accuracy", "document.querySelector('.options select').value === 'm:train/accuracy'")
        self.await_ink("train/loss")
        self.picture("metric-x")

    def test_dragging_asks_for_a_part_of_the_curve(self):
        self.go("/run/base", "document.querySelectorAll('figure').length === 4")
        self.await_ink("train/loss")
        box = self.page.evaluate("(() => { const plot = [...document.querySelectorAll('figure')].find(f => f.querySelector('b').textContent === "
                                 "'train/loss').querySelector('.plot'); plot.scrollIntoView({block: 'center'}); "
                                 "const r = plot.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()")
        y = box[1] + box[3] / 2
        self.page.mouse("mousePressed", box[0] + 120, y, "left", 1)
        self.page.mouse("mouseMoved", box[0] + 200, y, "left")
        self.page.mouse("mouseReleased", box[0] + 200, y, "left", 1)
        self.page.wait("[...document.querySelectorAll('.tools button')].some(b => b.textContent === 'all')")
        self.page.wait("document.querySelector('.legend .where')")

    def test_output(self):
        self.go("/run/base?tab=output", "document.querySelectorAll('.log div').length > 100")
        self.assertIn("<b>not bold</b>", self.text())
        self.assertEqual(self.page.evaluate("document.querySelector('.log .ansi2').textContent"), "step")
        self.picture("output")
        self.go("/run/base?tab=output&grep=nan", "document.querySelectorAll('.log div').length === 1")
        self.assertEqual(self.page.evaluate("document.querySelector('mark').textContent"), "nan")

    def test_a_failure_says_why(self):
        self.go("/run/broken", "document.querySelector('.last-words')")
        self.assertIn("the learning rate is wrong", self.text())
        self.picture("failed")

    def test_alerts_stay_until_somebody_looks(self):
        rows = "[...document.querySelectorAll('section[aria-label=alerts] li')]"
        self.go("/", "document.querySelector('.trials')")
        for seed, name in ((5, "alarm"), (6, "bell")):
            self._trial(seed, 3, "fails", name)
            self.page.wait(rows + ".some(row => row.textContent.includes('%s'))" % name)
        self.picture("alerts")
        self.page.evaluate(rows + ".find(row => row.textContent.includes('alarm')).querySelector('button').click()")
        self.page.wait("!" + rows + ".some(row => row.textContent.includes('alarm'))")
        self.go("/run/bell", "document.querySelector('.last-words')")
        self.await_true(lambda: not any(thing.get("unseen") and thing["name"] == "bell" for thing in
                                        map(json.loads, self._run_yard("ps", "-a", "--json").splitlines())), "bell is not seen")
        self.go("/", "document.querySelector('.trials')")
        self.page.wait("!" + rows + ".some(row => row.textContent.includes('bell'))")

    def test_hostile_names_do_nothing(self):
        self.go("/run/sweep-a", "document.querySelectorAll('figure').length === 5")
        self.assertIn(HOSTILE.split("\u202e")[0], self.text())
        self.assertEqual(self.page.evaluate("document.querySelectorAll('img').length"), 0)
        self.go("/run/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E", "document.querySelector('.trouble')")
        self.go("/runs?q=%3Cscript%3Ealert(1)%3C/script%3E", "document.querySelector('.trouble')")
        self.assertEqual(self.page.evaluate("document.querySelectorAll('main script, main img').length"), 0)

    def test_points_come_by_themselves(self):
        self.go("/run/goes-on", "document.querySelector('.live.live')")
        self.await_ink("train/loss")
        step = "document.querySelector('.facts b').textContent.replaceAll(',', '')"
        before = int(self.page.evaluate(step))
        # Only points come with each report: all of the run is asked for each 5 s.
        self.page.evaluate("performance.clearResourceTimings()")
        self.page.wait("Number(%s) > %d" % (step, before + 15))
        asked = self.page.evaluate("performance.getEntriesByType('resource').filter(one => one.name.endsWith('/runs/goes-on')).length")
        self.assertLessEqual(asked, 2)
        self.picture("live")

    def test_kills_cost_a_pause_and_no_point(self):
        self._trial(6, 5, "stays", "survives", "--detach")
        self.go("/run/survives", "document.querySelectorAll('figure').length === 4")
        step = "Number(document.querySelector('.facts b').textContent.replaceAll(',', ''))"
        for service in ("web", "datamanager", "trainer", "registry"):
            with self.subTest(killed=service):
                pid = next(row["pid"] for row in map(json.loads, self.yard("status", "--json")[0].splitlines())
                           if row.get("service") == service)
                os.kill(pid, signal.SIGKILL)
                before = self.page.evaluate(step)
                self.page.wait("%s > %d" % (step, before + 4))
        self.yard("stop", "survives")
        self.page.wait("document.querySelector('.head .state.stopped')")
        self.yard("call", "datamanager", "Reload", "{}")
        points = list(csv.DictReader(io.StringIO(self.yard("export", "survives", "-m", "train/loss")[0])))
        self.page.evaluate("[...document.querySelectorAll('figure')].find(f => f.querySelector('b').textContent === 'train/loss')"
                           ".querySelector('.tools button').click()")
        rows = "[...document.querySelectorAll('.numbers tbody tr')].map(row => [row.cells[1], row.cells[4]].map(cell => cell.textContent.replaceAll(',', '')))"
        self.page.wait("%s.length === %d" % (rows, len(points)))
        self.assertEqual([int(shown[0]) for shown in self.page.evaluate(rows)], [int(point["step"]) for point in points])
        for shown, point in zip(self.page.evaluate(rows), points):
            self.assertAlmostEqual(float(shown[1]), float(point["value"]), places=3)
        self.yard("rm", "survives")  # Other tests count the runs.

    def test_stopping_asks_first(self):
        name = "to-stop"
        self._trial(5, 3, "stays", name, "--detach")
        self.go("/run/" + name, "[...document.querySelectorAll('.head button')].some(b => b.textContent === 'stop')")
        self.page.evaluate("[...document.querySelectorAll('.head button')].find(b => b.textContent === 'stop').click()")
        self.page.wait("document.querySelector('dialog[open]')")
        self.assertIn("Stop to-stop?", self.page.evaluate("document.querySelector('dialog').innerText").replace("\n", ""))
        self.page.evaluate("document.querySelector('dialog .sure').click()")
        self.page.wait("document.querySelector('.head .state.stopped')")

    def test_a_run_is_given_a_name_labels_and_a_note(self):
        self._trial(5, 3, "", "to-edit")
        self.addCleanup(self._run_yard, "rm", "to-edit")  # Other tests count the runs.
        self._services("call", "datamanager", "Reload", "{}")
        self.go("/run/to-edit", "document.querySelector('.head .state.done')")
        edit = "[...document.querySelectorAll('.head button')].find(b => b.textContent === 'edit').click()"
        put = ("(() => { const field = document.querySelectorAll('dialog input, dialog textarea')[%d]; field.value = %s; "
               "field.dispatchEvent(new Event('input', {bubbles: true})); })()")
        self.page.evaluate(edit)
        self.page.wait("document.querySelector('dialog[open].edit')")
        # By keys alone: name, labels, note, save.
        self.page.evaluate("document.querySelector('dialog input').focus()")
        # (A name with a character that turns the line is refused.)
        name = "The best " + HOSTILE.replace("\u202e", "")
        self.page.type(name)
        self.page.evaluate("document.querySelectorAll('dialog input')[1].focus()")
        self.page.type("base, best")
        self.page.evaluate("document.querySelector('dialog textarea').focus()")
        self.page.type("two\nlines")
        self.picture("edit")
        self.page.evaluate("document.querySelector('dialog .sure').click()")
        self.page.wait("!document.querySelector('dialog') && document.querySelector('h1').textContent.startsWith('The best <img')")
        labels = "[...document.querySelectorAll('.head .label')].map(one => one.textContent)"
        self.page.wait("%s.length === 2" % labels)
        self.assertEqual(self.page.evaluate(labels), ["base", "best"])
        self.assertEqual(self.page.evaluate("document.querySelector('.note').textContent"), "two\nlines")
        # A label less, and no note: the name stays.
        self.page.evaluate(edit)
        self.page.wait("document.querySelector('dialog[open].edit')")
        self.page.evaluate(put % (1, "'best'"))
        self.page.evaluate(put % (2, "''"))
        self.page.evaluate("document.querySelector('dialog .sure').click()")
        self.page.wait("!document.querySelector('dialog') && !document.querySelector('.note') && %s.length === 1" % labels)
        said = json.loads(self._run_yard("show", "to-edit", "--json"))
        self.assertEqual((said["labels"], said["note"], said["display_name"]), (["best"], None, name))

    def test_the_address_opens_once(self):
        self.assertEqual(self.page.evaluate("location.hash"), "")
        other = self.browser.page()
        address = self._address()
        other.open(address)
        other.wait("document.querySelector('.services')")


if __name__ == "__main__":
    xml_runner.main()
