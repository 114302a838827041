"""The page's parameters of runs, graphs, lineage, saved views and board in a real browser."""

import json
import os
import signal

from bazel.python import xml_runner
from tests import event_records, page_case, yard_case

HOSTILE = "<img src=x onerror=alert(1)>"
PROGRAM = r"""
import json, os, sys
channel = os.fdopen(3, "r+b", buffering=0)
def say(line):
    channel.write(json.dumps(line).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"): answer += channel.read(1)
    return json.loads(answer)
lr, width = float(sys.argv[1]), int(sys.argv[2])
for i in range(30):
    say({"t": "report", "m": {"loss": (lr - 0.1) ** 2 * 10 + 1 / width + 1 / (i + 1), "accuracy": width / 100}})
ckpt = say({"t": "ckpt_begin"})
open(ckpt["path"] + "/state", "w").write("x")
say({"t": "ckpt_end", "path": ckpt["path"]})
"""


class PageViewsTest(page_case.PageCase):
    up_words = ("--logdir", "runs")

    @classmethod
    def prepare(cls):
        with open(os.path.join(cls.directory, "train.py"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        cls.run_trials("--name", "m-{index}", "--grid", "lr=0.001,0.01,0.1,1", "--grid", "width=8,16,32", "--grid", "opt=adam,sgd",
                       "--config", json.dumps({"same": 7, "note": HOSTILE}), "--", "python3", "train.py", "{lr}", "{width}")
        cls.run_trials("--name", "child", "--from", "m-0")
        cls.run_trials("--name", "grandchild", "--from", "child")
        for name, source, target in (("tensorflow", "testing/golden/tensorflow.tfevents", "events.out.tfevents.1"), ("mindspore", "testdata/graphs/mindspore.pb", "ms_output.pb")):
            os.makedirs(os.path.join(cls.directory, "runs", name))
            with open("eventlog/" + source, "rb") as file, open(os.path.join(cls.directory, "runs", name, target), "wb") as out:
                out.write(file.read())
        with open(os.path.join(cls.directory, "runs/mindspore/a.out.events.summary.1.0.host_MS_lineage"), "wb") as file:
            epochs = event_records.field(1, event_records.field(4, 3))  # hyper_parameters.epoch
            file.write(event_records.record(b"\x09" + b"\0" * 8 + event_records.field(6, epochs)))
        with open(os.path.join(cls.directory, "runs/mindspore/events.out.tfevents.1"), "wb") as file:
            file.write(event_records.points(0, 3))
        cls._services("call", "datamanager", "Reload", "{}")

    @classmethod
    def run_trials(cls, *words):
        yard_case.subprocess.run([cls.yard_program, "run", *words], cwd=cls.directory, env=cls.environment, stdin=yard_case.subprocess.DEVNULL,
                                 stdout=yard_case.subprocess.DEVNULL, check=True, timeout=yard_case.LONG)

    def choose(self, label, value):
        self.page.evaluate("(() => { const at = document.querySelector('select[aria-label=\"%s\"]'); at.value = %s; at.dispatchEvent(new Event('change', {bubbles: true})); })()" % (label, json.dumps(value)))

    _ROWS = "[...document.querySelectorAll('section[aria-label=runs] tbody tr')]"

    def open_parameters(self):
        self.page.resize(1280, 2600)
        self.go("/", "document.querySelector('.services')")
        self.go("/parameters?q=name:m-&metric=loss", "document.querySelectorAll('.axis').length === 4")

    def test_parameters_that_differ_are_axes(self):
        self.open_parameters()
        self.assertEqual(self.page.evaluate("[...document.querySelectorAll('.axis')].map(one => one.textContent)"), ["lr", "opt", "width", "loss"])
        self.assertEqual(self.page.evaluate(self._ROWS + ".length"), 24)
        first = self.page.evaluate(self._ROWS + "[0].innerText")
        self.assertIn("0.1", first)
        self.assertIn("32", first)
        self.page.wait("document.querySelector('section[aria-label=importance] .shares')")
        self.page.wait("document.querySelector('section[aria-label=values] tbody tr')")
        self.picture("parameters", whole=True)

    def test_a_brush_filters_everything(self):
        self.open_parameters()
        self.page.evaluate("document.querySelectorAll('.axis')[1].focus()")
        self.page.key("ArrowUp")
        self.page.wait(self._ROWS + ".length === 12")
        self.assertEqual(self.page.evaluate("[...new Set(%s.map(row => row.cells[4].innerText))].join()" % self._ROWS), "adam")
        self.page.wait("document.body.innerText.includes('12 of 24 runs')")
        self.assertEqual(self.page.evaluate("[...document.querySelectorAll('section[aria-label=values] tbody tr')].slice(0, 4).map(row => Number(row.cells[2].innerText)).reduce((a, b) => a + b)"), 12)
        self.page.wait("decodeURIComponent(location.search).includes('adam')")
        self.page.key("Escape")
        self.page.wait(self._ROWS + ".length === 24")

    def test_more_of_another_metric_is_better(self):
        self.open_parameters()
        self.choose("metric", "max:accuracy")
        self.choose("better is", "maximize")
        self.page.wait(self._ROWS + "[0] && " + self._ROWS + "[0].cells[2].innerText === '0.32'")

    def test_a_plot_has_a_table(self):
        self.open_parameters()
        self.page.evaluate("document.querySelector('figure.card').focus()")
        self.page.key("v")
        self.page.wait("document.querySelectorAll('figure.card .numbers tbody tr').length === 24")
        self.assertEqual(self.page.evaluate("[...document.querySelectorAll('figure.card .numbers thead th')].map(one => one.textContent).join()"), "lr,loss,point")
        self.page.key("v")
        self.page.wait("document.querySelector('figure.card canvas')")

    def test_by_keys_alone(self):
        self.go("/run/mindspore?tab=graph", "document.querySelector('.outline summary')")
        self.page.evaluate("document.querySelector('.outline summary').focus()")
        self.page.key("Enter", "\r")
        self.page.wait("document.querySelector('.outline .outline li')")
        for key, path in (("a", "/parameters"), ("v", "/saved"), ("h", "/")):
            self.page.evaluate("document.activeElement.blur()")
            self.page.key("g", "g")
            self.page.key(key, key)
            self.page.wait("location.pathname === '%s'" % path)
        self.open_parameters()
        self.page.evaluate("document.querySelector('figure.card').focus()")
        self.page.key("ArrowRight")
        self.page.key("Enter", "\r")
        self.page.wait("location.pathname.startsWith('/run/m-')")

    def test_a_graph_is_an_outline(self):
        self.go("/run/tensorflow?tab=graph", "document.querySelector('.outline li')")
        self.page.evaluate("[...document.querySelectorAll('.outline summary, .outline .node')][0].click()")
        self.page.evaluate("(() => { const at = document.querySelector('input[aria-label=node]'); at.value = 'TWICE'; at.dispatchEvent(new Event('change', {bubbles: true})); })()")
        self.page.wait("[...document.querySelectorAll('.outline .node')].some(one => one.textContent === 'twice')")
        self.page.evaluate("[...document.querySelectorAll('.outline .node')].find(one => one.textContent === 'twice').click()")
        self.page.wait("document.querySelector('.outline .pairs')")
        self.assertIn("inputs", self.page.evaluate("document.querySelector('.outline .pairs').innerText"))
        self.picture("graph")

    def test_scopes_of_mindspore_open(self):
        self.go("/run/mindspore?tab=graph", "document.querySelector('.outline summary')")
        self.page.evaluate("document.querySelector('.outline summary').click()")
        self.page.wait("document.querySelector('.outline .outline li')")

    def test_a_run_has_ancestors(self):
        self.go("/run/grandchild?tab=lineage", "document.querySelectorAll('.outline').length === 3")
        self.assertEqual(self.page.evaluate("[...document.querySelectorAll('.outline a')].map(one => one.textContent)"), ["m-0", "child"])
        self.picture("lineage")

    def test_lineage_of_mindspore(self):
        self.go("/run/mindspore?tab=lineage", "document.body.innerText.includes('epoch 3')")

    def pid_of_web(self):
        services = map(json.loads, self._run_yard("status", "--json").splitlines())
        return next((one["pid"] for one in services if one.get("service") == "web" and one.get("state") == "up"), None)

    def save_as(self, name):
        self.page.wait("document.querySelector('dialog[open]')")
        self.page.evaluate("(() => { const at = document.querySelector('dialog input'); at.value = %s; at.dispatchEvent(new Event('input', {bubbles: true})); })()" % json.dumps(name))
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.page.evaluate("document.querySelector('dialog .sure').click()")
        self.page.wait("!document.querySelector('dialog[open]')")

    def test_views_and_charts_are_saved(self):
        self.go("/runs?q=name:m-&sort=loss", "document.querySelector('[data-place]')")
        self.page.evaluate("document.querySelector('[aria-label=\"save this view\"]').click()")
        self.save_as("the best " + HOSTILE)
        self.page.wait("document.querySelector('figure.card')")
        self.page.evaluate("[...document.querySelectorAll('figure.card .tools button')].find(one => one.textContent === 'pin').click()")
        self.save_as("loss of all")
        # A name that is taken is not proposed, and is not replaced without a word.
        self.page.evaluate("[...document.querySelectorAll('figure.card .tools button')].find(one => one.textContent === 'pin').click()")
        self.page.wait("document.querySelector('dialog[open]')")
        self.page.evaluate("(() => { const at = document.querySelector('dialog input'); at.value = 'loss of all'; at.dispatchEvent(new Event('input', {bubbles: true})); })()")
        self.page.wait("document.querySelector('dialog .sure').textContent === 'replace'")
        self.page.evaluate("document.querySelector('dialog').close()")
        self.page.resize(1280, 1200)
        self.go("/saved", "document.querySelector('.saved figure.card')")
        self.assertEqual(self.page.evaluate("document.querySelector('.saved .rows a').textContent"), "the best " + HOSTILE)
        self.page.wait("document.querySelector('.saved .legend').innerText.includes('m-')")
        self.picture("saved")
        # Another browser sees them, too, also after the service has been started again.
        killed = self.pid_of_web()
        os.kill(killed, signal.SIGKILL)
        self.await_true(lambda: self.pid_of_web() not in (None, killed), "the service is not started again")
        self.page.wait("document.querySelector('.live.live')")
        self.go("/", "document.querySelector('.services')")
        self.go("/saved", "document.querySelector('.saved .rows a')")
        self.page.evaluate("document.querySelector('.saved .rows a').click()")
        self.page.wait("location.pathname === '/runs' && location.search === '?q=name%3Am-&sort=loss' || location.search === '?q=name:m-&sort=loss'")
        self.go("/saved", "document.querySelector('.saved .rows button')")
        self.page.evaluate("document.querySelector('.saved .rows button').click()")
        self.page.wait("document.querySelector('.saved .empty')")

    def test_a_note_is_markdown(self):
        self.yard("set", "m-0", "--note", "# Why\n\n- **good** `lr`\n\n" + HOSTILE)
        self.go("/run/m-0", "document.querySelector('.note [role=heading]')")
        self.assertEqual(self.page.evaluate("document.querySelector('.note b').textContent"), "good")
        self.assertIn(HOSTILE, self.page.evaluate("document.querySelector('.note').textContent"))


if __name__ == "__main__":
    xml_runner.main()
