"""The page's sweeps in a real browser: the list, the view, its brush, live trials, actions, hostile names."""

import json
import os
import pathlib

from bazel.python import xml_runner
from tests import page_case

# Trials fail where sgd has much momentum, and are held as long as a file is not there.
PROGRAM = r"""
import json, math, os, sys, time
config = json.loads(sys.argv[1])
while config.get("held") and not os.path.exists(config["held"]):
    time.sleep(0.01)
if config.get("optimizer") == "sgd" and config["momentum"] > 0.55:
    sys.exit("the loss is not finite any more")
for step in range(1, 10):
    loss = 0.2 * abs(math.log10(config.get("lr", 0.01)) + 2) + 0.1 * abs(config.get("momentum", 0.5) - 0.7) + 0.02 * config.get("layers", 1) + 0.5 / step
    print(json.dumps({"step": step, "loss": loss, "accuracy": 1 / (1 + loss), "seconds": config.get("layers", 1) * 0.1}), flush=True)
"""
FILE = {
    "name": "study", "method": "random", "seed": 7, "run_cap": 40, "parallel": 4,
    "metric": {"name": "loss", "goal": "minimize"},
    "early_terminate": {"type": "asha", "min": 1, "max": 9, "eta": 3},
    "parameters": {
        "lr": {"distribution": "log_uniform_values", "min": 1e-4, "max": 1.0},
        "momentum": {"min": 0.0, "max": 0.99},
        "optimizer": {"values": ["adam", "sgd"]},
        "layers": {"min": 1, "max": 6},
    },
    "command": ["python3", "train.py", "${args_json}"],
    "trial": {"output": "json"},
}
LONG_NAME = "n" * 5000
HOSTILE = {
    "<img src=x onerror=alert(1)>": {"values": ["<script>alert(2)</script>", "\u202egnp.exe", "v" * 5000]},
    "\u202eright to left\u2066": {"min": 0, "max": 1.0},
    LONG_NAME: {"values": [1, 2, 3]},
    "__proto__": {"values": ["a", "b"]},
}
COUNT = "document.querySelectorAll('section[aria-label=trials] tbody tr').length"
AXIS = "[...document.querySelectorAll('.axis')].find(axis => axis.textContent === %s)"
BUTTON = "[...document.querySelectorAll('.head button')].find(button => button.textContent === %s)"


class PageSweepTest(page_case.PageCase):
    @classmethod
    def prepare(cls):
        pathlib.Path(cls.directory, "train.py").write_text(PROGRAM, encoding="utf-8")
        cls._sweep(FILE)
        cls._sweep({**FILE, "name": "hostile", "run_cap": 6, "early_terminate": None, "parameters": HOSTILE})
        cls._services("call", "datamanager", "Reload", "{}")

    @classmethod
    def _sweep(cls, file, *words):
        path = pathlib.Path(cls.directory, file["name"] + ".yaml")
        text = json.dumps({key: value for key, value in file.items() if value is not None})
        # (YAML takes a key of more than 1,024 characters only behind a question mark.)
        path.write_text(text.replace('"%s":' % LONG_NAME, '? "%s" :' % LONG_NAME), encoding="utf-8")
        cls._run_yard("sweep", str(path), *words)

    def begin_held(self, name):
        """A sweep whose two trials wait for the file of its name."""
        held = {"held": {"value": name + ".go"}, "lr": FILE["parameters"]["lr"]}
        self._sweep({**FILE, "name": name, "run_cap": 2, "parallel": 2, "early_terminate": None, "parameters": held}, "--detach")
        self.addCleanup(self._run_yard, "rm", name)
        self.addCleanup(self._run_yard, "wait", name)
        self.addCleanup(self._run_yard, "stop", name)

    def open_study(self, query=""):
        self.go("/sweep/study" + query, "document.querySelectorAll('.axis').length === 5")

    def count(self):
        return self.page.evaluate(COUNT)

    def middle_of(self, script):
        return self.page.evaluate("(() => { const one = %s; one.scrollIntoView({block: 'center'}); const box = one.getBoundingClientRect(); "
                                  "return [box.x + box.width / 2, box.y + box.height / 2]; })()" % script)

    def click(self, script):
        x, y = self.middle_of(script)
        self.page.mouse("mousePressed", x, y, "left", 1)
        self.page.mouse("mouseReleased", x, y, "left", 1)

    def test_sweeps_are_listed(self):
        self.go("/", "document.querySelector('.services')")
        self.click("[...document.querySelectorAll('nav a')].find(a => a.textContent === 'Sweeps')")
        self.page.wait("document.querySelectorAll('.sweeps tbody tr').length === 2")
        row = self.page.evaluate("[...document.querySelectorAll('.sweeps tr')].find(row => row.innerText.startsWith('study')).innerText")
        for word in ("done", "random", "40 of 40", "failed", "stopped early", "momentum", "adam"):
            self.assertIn(word, row)
        self.picture("sweeps")
        self.go("/", "document.querySelector('.services')")
        self.page.evaluate("document.activeElement.blur()")
        for key in "gs":
            self.page.key(key, key)
        self.page.wait("location.pathname === '/sweeps' && document.querySelectorAll('.sweeps tbody tr').length === 2")
        self.click("[...document.querySelectorAll('.sweeps a')].find(a => a.textContent === 'study')")
        self.page.wait("document.querySelectorAll('.axis').length === 5")

    def test_yard_ui_opens_a_sweep(self):
        details = json.loads(self.yard("show", "study", "--json")[0])
        self.assertIn("/sweep/%s#k=" % details["id"], self.yard("ui", "study", "--print")[0])
        self.assertIn("/sweep/%s#k=" % details["id"], self.yard("ui", details["id"], "--print")[0])
        # Its trials are runs.
        self.assertIn("/run/study-0000#k=", self.yard("ui", "study-0000", "--print")[0])

    def test_a_sweep_is_seen_from_all_sides(self):
        self.open_study()
        details = json.loads(self.yard("show", "study", "--json")[0])
        self.assertEqual(self.count(), 40)
        text = self.text()
        self.assertIn(details["best"]["name"], text)
        # Levels: who was stopped where, and what it takes to go on now.
        early = [trial for trial in details["trial_list"] if trial["state"] == "stopped early"]
        self.assertGreater(len(early), 5)
        stopped = self.page.evaluate("[...document.querySelectorAll('section[aria-label=levels] summary')].map(one => parseInt(one.textContent))")
        self.assertEqual(sum(stopped), len(early))
        self.assertEqual(self.page.evaluate("document.querySelectorAll('section[aria-label=levels] tbody tr').length"), len(details["levels"]))
        self.assertIn("at most", self.page.evaluate("document.querySelector('section[aria-label=levels] tbody').innerText"))
        self.page.evaluate("document.querySelector('section[aria-label=levels] details').open = true")
        self.assertIn(early[0]["reason"], self.page.evaluate("document.querySelector('section[aria-label=levels]').textContent.replace(/\\s+/g, ' ')"))
        # Failures by reason, with what they share and others do not.
        failures = self.page.evaluate("document.querySelector('section[aria-label=failures]').innerText")
        for word in ("the loss is not finite any more", "all have", "optimizer sgd", "momentum from"):
            self.assertIn(word, failures)
        # Importance with what it means, and the values' results.
        importance = self.page.evaluate("document.querySelector('section[aria-label=importance]').innerText")
        self.assertIn("among the best tenth", importance)
        self.assertLess(importance.index(max(details["importance"], key=details["importance"].get)), 40)
        values = self.page.evaluate("document.querySelectorAll('section[aria-label=values] tbody tr').length")
        self.assertEqual(values, sum(len(one["bins"]) for one in details["marginals"]))
        self.assertIn("time of trials", self.page.evaluate("document.querySelector('section[aria-label=cost]').innerText").lower())
        self.page.evaluate("document.querySelector('section[aria-label=levels] details').open = false")
        self.page.evaluate("scrollTo(0, 0)")
        self.picture("sweep", high=1160)
        self.picture("sweep-all", whole=True)

    def test_a_brush_is_drawn_with_the_mouse(self):
        self.open_study()
        self.page.evaluate("document.querySelector('.lines').scrollIntoView({block: 'center'})")
        box = self.page.evaluate("(() => { const box = document.querySelector('.lines').getBoundingClientRect(); return [box.x, box.y, box.width, box.height]; })()")
        # The last axis is the loss: its upper half.
        x = box[0] + box[2] - 44
        self.page.mouse("mousePressed", x, box[1] + 5, "left", 1)
        self.page.mouse("mouseMoved", x, box[1] + box[3] * 0.4, "left")
        self.page.mouse("mouseReleased", x, box[1] + box[3] * 0.5, "left", 1)
        self.page.wait("location.search.includes('brush=') && %s < 40" % COUNT)
        chosen = self.count()
        self.assertGreaterEqual(chosen, 10)
        # The data manager is asked for the importance of what is left.
        self.page.wait("document.querySelector('section[aria-label=importance] .shares')")
        self.assertIn("%d runs" % chosen, self.page.evaluate("document.querySelector('section[aria-label=importance]').innerText"))
        self.picture("brush", whole=True)
        # All of it is in the address.
        self.page.evaluate("globalThis.isOld = true; location.reload()")
        self.page.wait("!globalThis.isOld && %s === %d" % (COUNT, chosen))
        self.click(AXIS % json.dumps("loss"))
        self.page.wait("%s === 40" % COUNT)

    def test_a_brush_is_drawn_with_keys(self):
        self.open_study()
        self.page.evaluate((AXIS % json.dumps("lr")) + ".focus()")
        self.page.key("ArrowUp")
        self.page.wait("%s < 40" % COUNT)
        before = self.count()
        for _ in range(8):
            self.page.key("ArrowUp")
        self.page.wait("%s < %d" % (COUNT, before))
        self.page.key("Escape")
        self.page.wait("%s === 40" % COUNT)
        # A choice goes through its values.
        self.page.key("ArrowRight")
        self.page.key("ArrowRight")
        self.page.wait("document.activeElement.textContent === 'optimizer'")
        self.page.key("ArrowUp")
        self.page.wait("document.activeElement.getAttribute('aria-label') === 'optimizer: adam'")
        self.assertLess(self.count(), 40)
        # Fewer than ten are too few.
        self.page.key("ArrowLeft")
        for _ in range(17):
            self.page.key("ArrowUp")
        self.page.wait("%s < 10" % COUNT)
        self.page.wait("document.querySelector('section[aria-label=importance] .empty')")
        self.assertIn("Importance cannot be said: it takes 10 trials", self.text())

    def test_any_two_columns_are_scattered_and_have_a_front(self):
        self.open_study()
        choose = ("(() => { const select = document.querySelector('select[aria-label=%s]'); select.value = '%s'; "
                  "select.dispatchEvent(new Event('change', {bubbles: true})); })()")
        figure = "[...document.querySelectorAll('figure')].find(one => one.querySelector('b').textContent === 'scatter')"
        self.page.wait("[...document.querySelectorAll('select[aria-label=sx] option')].some(one => one.value === 'accuracy')")
        self.page.evaluate(choose % ("sx", "seconds"))
        self.page.wait("location.search.includes('sx=seconds')")
        self.page.wait("(%s).getAttribute('aria-label').startsWith('loss by seconds')" % figure)
        self.page.evaluate("(%s).querySelector('input[type=checkbox]').click()" % figure)
        self.page.wait("(%s).getAttribute('aria-label').includes('in the front')" % figure)
        details = json.loads(self.yard("show", "study", "--json")[0])
        points = sorted((trial["config"]["layers"], trial["value"]) for trial in details["trial_list"] if trial["value"] is not None)
        front, best = 0, float("inf")
        for _, value in points:
            front, best = (front + 1, value) if value < best else (front, best)
        self.assertIn("%d trial" % front, self.page.evaluate("(%s).getAttribute('aria-label')" % figure).split(", ")[1])
        self.picture("front")
        # By keys: a point, and its trial.
        self.page.evaluate("(%s).focus()" % figure)
        self.page.key("ArrowRight")
        self.page.wait("(%s).querySelector('.legend b')" % figure)
        self.page.key("Enter")
        self.page.wait("location.pathname.startsWith('/run/')")

    def test_of_two_metrics_the_front_is_drawn_and_who_breaks_a_constraint_is_not_in_it(self):
        self._sweep({**FILE, "name": "two", "method": "tpe", "run_cap": 20, "metric": None, "early_terminate": None,
                     "metrics": [{"name": "loss"}, {"name": "seconds"}], "constraints": ["accuracy >= 0.7"]})
        self.addCleanup(self._run_yard, "rm", "two")
        details = json.loads(self.yard("show", "two", "--json")[0])
        self.assertTrue(details["front"])
        self.assertTrue(any(trial["breaks"] for trial in details["trial_list"]))
        self.go("/sweep/two", "document.querySelectorAll('.axis').length === 6")
        self.assertIn("best: a front of %d trial" % len(details["front"]), self.page.evaluate("document.querySelector('.head').innerText"))
        self.assertIn("minimize loss, minimize seconds", self.page.evaluate("document.querySelector('.head').innerText"))
        figure = "[...document.querySelectorAll('figure')].find(one => one.querySelector('b').textContent === 'scatter')"
        label = self.page.evaluate("(%s).getAttribute('aria-label')" % figure)
        self.assertTrue(label.startswith("seconds by loss"), label)
        self.assertIn("%d trial" % len(details["front"]), label.split(", ")[1])
        self.assertIn("in the front", label)
        self.picture("two-metrics")
        # It can be put away, and the address keeps that.
        self.page.evaluate("(%s).querySelector('input[type=checkbox]').click()" % figure)
        self.page.wait("location.search.includes('front=0') && !(%s).getAttribute('aria-label').includes('in the front')" % figure)
        self.assertIn("breaks accuracy >= 0.7", self.page.evaluate("document.querySelector('section[aria-label=trials]').innerText"))

    def test_a_trial_leads_to_its_sweep_and_back(self):
        self.open_study()
        self.click("document.querySelector('section[aria-label=trials] tbody a')")
        self.page.wait("[...document.querySelectorAll('.head a')].some(a => a.textContent === 'study')")
        self.picture("trial-of-sweep")
        self.click("[...document.querySelectorAll('.head a')].find(a => a.textContent === 'study')")
        self.page.wait("document.querySelectorAll('.axis').length === 5")
        self.click("[...document.querySelectorAll('.head a')].find(a => a.textContent === 'its runs')")
        self.page.wait("document.querySelector('.count') && document.querySelector('.count').textContent.startsWith('40 of')")
        # The importance of what a query finds.
        self.go("/runs?q=label:%22sweep=study%22&imp=loss", "document.querySelector('.importance .shares')")
        self.assertIn("among the best tenth of", self.text())
        self.page.evaluate("document.querySelector('.importance').scrollIntoView({block: 'center'})")
        self.picture("importance")
        self.go("/runs?q=name:study-0000&imp=loss", "document.querySelector('.importance .empty')")
        self.assertIn("it takes 10 runs", self.text())

    def test_trials_come_by_themselves(self):
        self.begin_held("live")
        self.go("/sweep/live", "document.querySelector('.head .state.running')")
        self.page.wait("%s === 2" % COUNT)
        self.page.wait("[...document.querySelectorAll('section[aria-label=trials] .state')].every(one => one.textContent.includes('running'))")
        self.go("/sweeps", "document.querySelector('.sweeps .state.running')")
        self.go("/sweep/live", "%s === 2" % COUNT)
        pathlib.Path(self.directory, "live.go").touch()
        self.page.wait("document.querySelector('.head .state.done')")
        self.page.wait("[...document.querySelectorAll('section[aria-label=trials] .state')].every(one => one.textContent.includes('done'))")
        self.page.wait("document.querySelector('.best b')")

    def test_actions_ask_first_and_name_the_sweep(self):
        self.begin_held("acted")
        self.go("/sweep/acted", "document.querySelector('.head .state.running')")
        for word, state in (("pause", "paused"), ("resume", "running"), ("stop", "stopped")):
            self.click(BUTTON % json.dumps(word))
            self.page.wait("document.querySelector('dialog[open]')")
            self.assertIn(word.capitalize() + " acted?", self.page.evaluate("document.querySelector('dialog').innerText").replace("\n", ""))
            if word == "pause":
                self.picture("sweep-confirm")
                # No is no.
                self.page.evaluate("document.querySelector('dialog button').click()")
                self.page.wait("!document.querySelector('dialog')")
                self.assertIn("running", self.page.evaluate("document.querySelector('.head .state').textContent"))
                self.click(BUTTON % json.dumps(word))
                self.page.wait("document.querySelector('dialog[open]')")
            self.page.evaluate("document.querySelector('dialog .sure').click()")
            self.page.wait("document.querySelector('.head .state.%s')" % state)
        log = "".join(path.read_text() for path in pathlib.Path(self.directory, "state").glob("**/web.log*"))
        for word in ("pause", "resume", "stop"):
            self.assertRegex(log, r"page: %s sweeps s-[a-z]{5}, by the port: done" % word)

    def test_hostile_names_do_nothing(self):
        self.go("/sweeps", "document.querySelectorAll('.sweeps tbody tr').length === 2")
        self.picture("sweeps-hostile")
        self.go("/sweep/hostile", "document.querySelectorAll('.axis').length >= 4")
        self.assertIn("<img src=x onerror=alert(1)>", self.text())
        self.assertNotIn("\u202e", self.text())
        self.assertEqual(self.page.evaluate("document.querySelectorAll('main script, main img').length"), 0)
        # Each axis is brushed once.
        for i in range(4):
            self.page.evaluate("document.querySelectorAll('.axis')[%d].focus()" % i)
            self.page.key("ArrowUp")
        self.page.wait("location.search.includes('brush=')")
        self.picture("hostile", whole=True)
        self.go("/sweep/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E", "document.querySelector('.trouble')")
        self.go("/sweep/study?brush=%7B%22lr%22:5,%22optimizer%22:%7B%22of%22:7%7D%7D", "document.querySelectorAll('.axis').length === 5")
        self.go("/sweep/study?brush=null&sx=__proto__&sy=constructor&over=x&flip=,", "document.querySelectorAll('.axis').length === 5")


if __name__ == "__main__":
    xml_runner.main()
