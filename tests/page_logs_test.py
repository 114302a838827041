"""The page's search through output in a real browser, and `yard logs --grep`, which asks the same."""

import json

from bazel.python import xml_runner
from tests import page_case, yard_case

HOSTILE = "<img src=x onerror=alert(1)>"
# Reports and output with a second between both halves: the time of a line leads to its step.
PROGRAM = r"""
import json, os, sys, time
channel = os.fdopen(3, "r+b", buffering=0)
def report(**metrics):
    channel.write(json.dumps({"t": "report", "m": metrics}).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"): answer += channel.read(1)
for i in range(40):
    report(loss=1 / (i + 1))
    print("step %d of %s" % (i, sys.argv[1]), flush=True)
    if i == 19:
        print("needle <img src=x onerror=alert(1)> \x1b[31mred\x1b[0m", file=sys.stderr, flush=True)
        time.sleep(3)
"""


class PageLogsTest(page_case.PageCase):
    @classmethod
    def prepare(cls):
        with open(cls.directory + "/train.py", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        for name in ("first", "second"):
            cls._run_yard("run", "--name", name, "--", "python3", "train.py", name)
        cls._run_yard("launch", "--name", "many", "--", "sh", "-c", "seq 1 3000 | sed 's/^/count /'")
        cls._services("call", "datamanager", "Reload", "{}")

    def lines(self):
        return self.page.evaluate("[...document.querySelectorAll('.found .text')].map(one => one.textContent)")

    def test_lines_of_all_tasks_are_found(self):
        self.go("/logs?grep=needle|step%2039", "document.querySelectorAll('.found li').length === 4")
        self.assertEqual(self.lines(), ["step 39 of second", "needle %s red" % HOSTILE, "step 39 of first", "needle %s red" % HOSTILE])
        self.assertEqual(self.page.evaluate("document.querySelectorAll('main img').length"), 0)
        self.assertEqual(self.page.evaluate("document.querySelector('.found mark').textContent"), "step 39")
        self.assertEqual(self.page.evaluate("document.querySelector('.found .task').textContent"), "second")
        self.picture("logs")
        # Only errors; a task; a pattern that is none.
        self.go("/logs?grep=needle|step%2039&stderr=1", "document.querySelectorAll('.found li').length === 2")
        self.go("/logs?grep=step&job=nothing", "document.querySelector('.trouble')")
        self.go("/logs?grep=(", "(document.querySelector('.trouble') || document.body).textContent.includes('missing )')")
        self.go("/logs?grep=nowhere", "document.querySelector('.empty')")

    def test_older_lines_come_on_request(self):
        self.go("/logs?job=many", "document.querySelectorAll('.found li').length === 200")
        self.assertEqual(self.lines()[0], "count 3000")
        self.page.evaluate("[...document.querySelectorAll('main button')].find(b => b.textContent === 'older lines').click()")
        self.page.wait("document.querySelectorAll('.found li').length === 400")
        self.assertEqual(self.lines()[-1], "count 2601")

    def test_a_line_leads_to_the_run_at_that_step(self):
        self.go("/logs?grep=needle", "document.querySelectorAll('.found li').length === 2")
        self.page.evaluate("document.querySelector('.found a.when').click()")
        self.page.wait("location.pathname.startsWith('/run/') && document.querySelector('.legend .where')")
        step = int(self.page.evaluate("document.querySelector('.legend .where').textContent"))
        # (The index of the output is as exact as a second; the program waits for three after step 20.)
        self.assertIn(step, range(0, 22))

    def test_by_keys_alone(self):
        self.go("/", "document.querySelector('.services')")
        self.page.evaluate("document.activeElement.blur()")
        self.page.key("g", "g")
        self.page.key("l", "l")
        self.page.wait("location.pathname === '/logs'")
        self.page.key("/", "/")
        self.page.wait("document.activeElement.id === 'query'")
        self.page.type("needle")
        self.page.key("Enter", "\r")
        self.page.wait("document.querySelectorAll('.found li').length === 2")
        self.page.evaluate("document.querySelector('.found a').focus()")
        self.page.key("ArrowDown")
        self.page.wait("document.activeElement === document.querySelectorAll('.found a')[1]")
        self.page.key("Enter", "\r")
        self.page.wait("location.pathname.startsWith('/run/')")

    def test_the_command_line_asks_the_same(self):
        out, err = self.yard("logs", "--grep", "needle|step 39")
        self.assertEqual([line.split("]:")[1].strip()[:6] for line in out.splitlines()], ["needle", "step 3", "needle", "step 3"])
        self.assertEqual(err, "")
        self.assertIn("first/worker-0", out)
        out, err = self.yard("logs", "many", "--grep", "count", "--json")
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([row["text"] for row in rows], ["count %d" % i for i in range(2001, 3001)])
        self.assertIn("older lines are left out", err)
        self.assertEqual(len(self.yard("logs", "many", "--grep", "", "-n", "7")[0].splitlines()), 7)
        answer = json.loads(yard_case.subprocess.run(
            ["curl", "-s", "--unix-socket", self.directory + "/run/yard/http", "http://localhost/api/v1/logs?grep=count&limit=5"],
            stdout=yard_case.subprocess.PIPE, check=True).stdout)
        self.assertEqual([(line["task"], line["offset"], line["time"][:18], line["text"]) for line in answer["lines"]],
                         [(row["task"], row["offset"], row["time"][:18], row["text"]) for row in rows[:-6:-1]])


if __name__ == "__main__":
    xml_runner.main()
