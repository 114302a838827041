"""axe-core finds nothing in any view of the page, in light and dark, wide and narrow."""

import glob
import json
import os

from bazel.python import xml_runner
from tests import page_case, page_media_test, yard_case

SWEEP = """
program: train.py
method: random
metric: {name: loss, goal: minimize}
run_cap: 12
parameters:
  lr: {distribution: log_uniform_values, min: 0.001, max: 1}
  width: {values: [8, 16, 32]}
command: [python3, train.py, "${args_no_hyphens}"]
early_terminate: {type: asha, min: 1, eta: 3}
"""
PROGRAM = r"""
import json, os, sys
channel = os.fdopen(3, "r+b", buffering=0)
config = dict(word.split("=") for word in sys.argv[1:])
for i in range(9):
    channel.write(json.dumps({"t": "report", "m": {"loss": float(config["lr"]) + 1 / (i + 1)}}).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"): answer += channel.read(1)
    if json.loads(answer)["t"] == "stop": break
print("a line")
sys.exit(config["width"] == "8")
"""


class PageAccessibilityTest(page_case.PageCase):
    up_words = ("--logdir", "runs")

    @classmethod
    def prepare(cls):
        peers = os.environ.get("YARD_PEERS")
        scripts = glob.glob(os.path.join(peers or "/none", "accessibility/lib/python3*/site-packages/axe_playwright_python/axe.min.js"))
        if not scripts:
            what = "axe-core is not installed. Next step: tools/peers accessibility, and YARD_PEERS for the test"
            raise AssertionError(what) if os.environ.get("CI") else yard_case.unittest.SkipTest(what)
        with open(scripts[0], encoding="utf-8") as file:
            cls.axe = file.read()
        for name, text in (("train.py", PROGRAM), ("sweep.yaml", SWEEP)):
            with open(os.path.join(cls.directory, name), "w", encoding="utf-8") as file:
                file.write(text)
        cls.write_media("media")
        cls._run_yard("sweep", "sweep.yaml", "--name", "study")
        cls._run_yard("run", "--name", "fails", "--", "sh", "-c", "echo bad >&2; exit 3")
        for name in ("study-0000", "study-0001"):
            cls._run_yard("set", name, "--label", "+good", "--note", "# Why\n\n- `it` is [good](https://example.org)")
        cls._services("call", "datamanager", "Reload", "{}")

    @classmethod
    def write_media(cls, run):
        directory = os.path.join(cls.directory, "runs", run)
        os.makedirs(directory)
        with open(directory + "/events.out.tfevents.1", "wb") as file:
            for step in page_media_test.STEPS:
                for tag, fields in page_media_test.media(step):
                    file.write(page_media_test.event_records.event(step, page_media_test.event_records.value(tag.encode(), fields), 1.7e9 + step))

    def check(self, path, ready):
        """Faults that axe finds there, each with the elements that have it."""
        self.page.theme("light")
        self.page.resize(1280, 1600)
        self.go(path, ready)
        faults = {}
        for theme in ("light", "dark"):
            self.page.theme(theme)
            for width in (1280, 390):
                self.page.resize(width, 1600)
                self.page.wait("document.getAnimations().length === 0")
                found = self.page.evaluate("(async () => { if (!globalThis.axe) { %s }; const found = await axe.run(document, {resultTypes: ['violations']});"
                                           "return JSON.stringify(found.violations.map(one => [one.id, one.help, one.nodes.slice(0, 3).map(node => node.html.slice(0, 200))])); })()"
                                           % self.axe)
                for name, *rest in json.loads(found):
                    faults.setdefault(name, ["%s %d" % (theme, width), *rest])
        self.page.theme("light")
        self.assertEqual(faults, {}, path)

    def test_home(self):
        self.check("/", "document.querySelector('.services')")

    def test_runs(self):
        self.check("/runs?cols=trial_state,labels,note,loss&q=name:study", "document.querySelector('[data-place]') && document.querySelector('figure.card')")

    def test_run(self):
        for tab in ("charts", "output", "parameters", "code", "attempts", "lineage", "files"):
            self.check("/run/study-0001?tab=" + tab, "document.querySelector('#tab-%s[aria-selected=true]')" % tab)

    def test_media(self):
        self.check("/run/media?tab=media", "document.querySelector('.media img') && document.querySelector('.media audio')")

    def test_graph(self):
        directory = os.path.join(self.directory, "runs/graph")
        os.makedirs(directory)
        with open("eventlog/testing/golden/tensorflow.tfevents", "rb") as source, open(directory + "/events.out.tfevents.1", "wb") as file:
            file.write(source.read())
        self._services("call", "datamanager", "Reload", "{}")
        self.check("/run/graph?tab=graph&find=twice&node=twice", "document.querySelector('.outline .pairs')")

    def test_compare(self):
        for tab in ("differences", "curves", "media", "output", "code"):
            self.check("/compare?runs=study-0001,study-0000&group=config.width&tab=" + tab, "document.querySelector('#tab-%s[aria-selected=true]')" % tab)

    def test_sweeps(self):
        self.check("/sweeps", "document.querySelector('.sweeps, table')")
        self.check("/sweep/study", "document.querySelector('.lines')")

    def test_processes(self):
        self.check("/processes", "document.querySelector('.tree')")

    def test_logs(self):
        self.check("/logs?grep=line", "document.querySelector('.found li')")

    def test_parameters(self):
        self.check("/parameters?q=name:study&metric=loss", "document.querySelector('.lines')")

    def test_saved(self):
        self.page.evaluate("fetch('/api/v1/views/a/set', {method: 'POST', headers: {'Content-Type': 'application/json', Authorization: 'Bearer ' + sessionStorage.getItem('yard.token')},"
                           "body: JSON.stringify({address: '/chart?tag=loss&runs=study-0001'})}).then(answer => answer.status)")
        self.check("/saved", "document.querySelector('.saved figure')")

    def test_dialogs_and_help(self):
        self.go("/run/study-0001", "document.querySelector('.buttons')")
        self.page.evaluate("[...document.querySelectorAll('.buttons button')].find(one => one.textContent === 'edit').click()")
        self.page.wait("document.querySelector('dialog[open]')")
        self.check("/run/study-0001", "document.querySelector('dialog[open]')")
        self.page.evaluate("document.querySelector('dialog[open]').close()")
        self.page.evaluate("document.querySelector('nav [aria-label=keys]').click()")
        self.check("/run/study-0001", "document.querySelector('.help')")


if __name__ == "__main__":
    xml_runner.main()
