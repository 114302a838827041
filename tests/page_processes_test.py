"""The page's view of processes in a real browser: jobs as a tree, who holds which GPU, and what stops and starts them."""

import json
import os

from bazel.python import xml_runner
from tests import page_case, yard_case

HOSTILE = "<img src=x onerror=alert(1)>"
# A job of two kinds of tasks, which stays; each worker has a GPU.
STAYS = """
name: cluster
tasks:
  chief:
    count: 1
    command: [sh, -c, "trap 'echo got it' USR1; while true; do sleep 0.1; done"]
    resources: {gpu: 1}
  worker:
    count: 2
    command: [sh, -c, "while true; do sleep 0.1; done"]
"""
# Fails twice, then for good.
FAILS = """
name: flaky
restart: on-failure
max_restarts: 2
tasks:
  worker:
    count: 1
    command: [sh, -c, "echo 'the data are gone' >&2; exit 7"]
"""

# It reports to a trial that it has made itself, and ends with its input.
ATTACHED = """
import sys, yard
run = yard.init(name="attached")
run.report(loss=1)
print("reports", flush=True)
sys.stdin.read()
run.finish()
"""

ROW = "[...document.querySelectorAll('.tree tbody tr')].find(row => row.querySelector('.name').textContent.includes(%s))"


class PageProcessesTest(page_case.PageCase):
    variables = {"PYTHONPATH": os.path.abspath("sdk/python"), "LD_LIBRARY_PATH": os.path.abspath("launcher/gpu/testing"), "CUDA_VISIBLE_DEVICES": "0,1"}
    up_words = ("--resources", "gpu=0,1")

    @classmethod
    def prepare(cls):
        for name, text in (("stays.yaml", STAYS), ("fails.yaml", FAILS)):
            with open(os.path.join(cls.directory, name), "w", encoding="utf-8") as file:
                file.write(text)
        cls._run_yard("launch", "--detach", "stays.yaml")
        cls._run_yard("launch", "fails.yaml")
        cls._run_yard("run", "--detach", "--name", "trial", "--", "sh", "-c", "while true; do sleep 0.1; done")

    def row(self, name):
        return ROW % json.dumps(name)

    def press(self, name, action):
        self.page.evaluate("[...(%s).querySelectorAll('.do button')].find(b => b.textContent === %s).click()" % (self.row(name), json.dumps(action)))
        self.page.wait("document.querySelector('dialog[open]')")

    def sure(self):
        self.page.evaluate("document.querySelector('dialog .sure').click()")
        self.page.wait("!document.querySelector('dialog')")

    def test_a_run_that_nobody_launched(self):
        program = self.start("/usr/bin/python3", "-c", ATTACHED, stdin=yard_case.subprocess.PIPE)
        self.assertEqual(program.stdout.readline().strip(), "reports")
        self.go("/run/attached", "document.querySelector('.head .buttons button')")
        buttons = lambda: self.page.evaluate("[...document.querySelectorAll('.head .buttons button')].map(one => one.textContent)")
        # It is never signalled, and nobody can start it again.
        self.assertEqual(buttons()[:3], ["stop", "tell", "edit"])
        # (An address that somebody has typed.)
        self.go("/run/attached?tab=attempts", "document.querySelector('[role=tabpanel] table')")
        self.go("/run/attached?tab=output", "document.querySelector('[role=tabpanel] .trouble')")
        self.assertIn("the output of attached is not kept: its program, process %d, has attached itself" % program.pid, self.text())
        self.finish(program)

    def test_jobs_are_a_tree(self):
        self.go("/processes", self.row("chief-0"))
        self.page.wait("(%s).textContent.includes('running')" % self.row("worker-1"))
        text = self.text()
        for word in ("registry", "Fake GPU", "cluster", "chief-0", "worker-1", "gpu=0", "trial", "flaky", "exit code 7"):
            self.assertIn(word, text)
        # The GPUs, with the task that holds each.
        gpus = "[...document.querySelectorAll('section[aria-label=GPUs] tbody tr')].map(row => row.cells[1].textContent.trim())"
        self.page.wait("%s[1] === 'nobody'" % gpus)  # A task of another test may have had it until lately.
        self.assertRegex(self.page.evaluate(gpus)[0], "^j-[a-z]{5}/chief-0$")
        # Figures come after two looks.
        self.page.wait("(%s).cells[2].textContent.includes('%%') && (%s).cells[3].textContent.includes('B')" % (self.row("chief-0"), self.row("chief-0")))
        # An ended job is shut; opened, it says why, and has its attempts.
        self.assertFalse(self.page.evaluate("Boolean(document.querySelector('.tree .failure'))"))
        self.page.evaluate("(%s).querySelector('.turn').click()" % self.row("flaky"))
        self.page.wait("document.querySelector('.tree .failure')")
        self.assertIn("the data are gone", self.text())
        self.assertEqual(self.page.evaluate("(%s).cells[6].textContent" % self.row("flaky")), "2")
        self.page.evaluate("[...document.querySelectorAll('.tree .level2 button.turn')].at(-1).click()")
        self.page.wait("document.querySelectorAll('.tree .attempt').length === 3")
        self.picture("processes", whole=True)
        # The address has all of it, and a search.
        self.assertIn("open=", self.page.evaluate("location.search"))
        self.go("/processes?q=FLAKY", "document.querySelectorAll('.tree tbody tr').length === 1")

    def test_by_keys_alone(self):
        self.go("/", "document.querySelector('.services')")
        self.page.evaluate("document.activeElement.blur()")
        self.page.key("g", "g")
        self.page.key("p", "p")
        self.page.wait("location.pathname === '/processes' && document.querySelector('.tree')")
        focused = "document.activeElement.querySelector && document.activeElement.querySelector('.name') && document.activeElement.querySelector('.name').textContent"
        self.page.evaluate("(%s).focus()" % self.row("cluster"))
        self.page.key("ArrowDown")
        self.page.wait("(%s || '').includes('chief-0')" % focused)
        self.page.key("ArrowLeft")
        self.page.wait("(%s || '').includes('cluster')" % focused)
        self.page.key("ArrowLeft")
        self.page.wait("!(%s)" % self.row("chief-0"))
        self.page.key("ArrowRight")
        self.page.wait(self.row("chief-0"))

    def test_a_task_is_signalled_stopped_and_started_again(self):
        with open(os.path.join(self.directory, "second.yaml"), "w", encoding="utf-8") as file:
            file.write(STAYS.replace("cluster", "second"))
        self._run_yard("launch", "--detach", "second.yaml")
        self.go("/processes?q=second", self.row("chief-0"))
        self.page.wait("(%s).textContent.includes('running')" % self.row("chief-0"))
        self.press("chief-0", "signal")
        self.picture("signal")
        self.sure()
        self.await_true(lambda: b"got it" in self._run_yard("logs", "second/chief-0"), "the signal has not come")
        self.press("worker-1", "restart")
        self.assertIn("/worker-1", self.page.evaluate("document.querySelector('dialog').innerText"))
        self.sure()
        self.page.wait("(%s).querySelector('.turn[aria-label]')" % self.row("worker-1"))  # It has two attempts now.
        self.press("worker-1", "stop")
        self.sure()
        self.page.wait("!(%s).textContent.includes('running')" % self.row("worker-1"))
        self.yard("stop", "second")
        self._run_yard("rm", "second")  # Other tests find rows by the names of tasks.

    def test_a_job_is_stopped_and_a_trial_by_the_trainer(self):
        self._run_yard("launch", "--detach", "--name", "to-stop", "--", "sh", "-c", "while true; do sleep 0.1; done")
        self._run_yard("run", "--detach", "--name", "ends-too", "--", "sh", "-c", "while true; do sleep 0.1; done")
        for name in ("to-stop", "ends-too"):
            self.go("/processes?q=%s" % name, self.row(name))
            self.press(name, "stop")
            self.assertIn("Stop %s?" % name, self.page.evaluate("document.querySelector('dialog').innerText"))
            self.sure()
            self.page.wait("!(%s).textContent.includes('running') && !(%s).textContent.includes('stopping')" % (self.row(name), self.row(name)))
        trials = json.loads(yard_case.subprocess.run(
            ["curl", "-s", "--unix-socket", os.path.join(self.directory, "run/yard/http"), "http://localhost/api/v1/trials?ended=9"],
            stdout=yard_case.subprocess.PIPE, check=True).stdout)["trials"]
        self.assertEqual([trial["state"] for trial in trials if trial["name"] == "ends-too"], ["stopped"])

    def test_hostile_names_do_nothing(self):
        self._run_yard("launch", "--detach", "--name", "hostile", "--", "echo", HOSTILE)
        self.go("/processes?q=hostile", self.row("hostile"))
        self.page.wait("document.body.innerText.includes(%s)" % json.dumps(HOSTILE))
        self.assertEqual(self.page.evaluate("document.querySelectorAll('main img').length"), 0)


if __name__ == "__main__":
    xml_runner.main()
