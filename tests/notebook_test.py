"""The notebook of examples/ in a real kernel; what it shows of runs, and what becomes of a kernel's run."""

import json
import os
import pathlib
import urllib.request
import xml.etree.ElementTree

from bazel.python import xml_runner
from tests import yard_case

SDK = str(pathlib.Path("sdk/python").absolute())
NOTEBOOK = str(pathlib.Path("examples/notebook/momentum.ipynb").absolute())
# Runs the cells of a notebook, and prints the outputs of each as JSON. The words behind its name are cells.
EXECUTE = """
import json, nbclient, nbformat, sys
name, *cells = sys.argv[1:]
notebook = nbformat.read(name, 4) if name else nbformat.v4.new_notebook()
notebook.cells += [nbformat.v4.new_code_cell(cell) for cell in cells]
nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=bool(cells)).execute()
for cell in notebook.cells:
    print(json.dumps(cell.get("outputs", [])))
"""
# A kernel whose run is going on is shut down with one, restarted, or killed.
KERNEL = """
import sys
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="python3")
def run(code):
    reply = client.execute_interactive(code, timeout=120, output_hook=lambda message: None)
    assert reply["content"]["status"] == "ok", reply
run("import yard; run = yard.init(name=%r); run.report(loss=1)" % sys.argv[1])
if sys.argv[1] == "shut_down":
    manager.shutdown_kernel()
elif sys.argv[1] == "restarted":
    manager.restart_kernel(now=True)
    client.wait_for_ready(timeout=120)
    run("import yard; run = yard.init(name='after_it'); run.report(loss=1); run.finish()")
    manager.shutdown_kernel()
else:
    manager.shutdown_kernel(now=True)
"""


class NotebookCase(yard_case.YardCase):
    peer = "notebook"
    variables = {"PYTHONPATH": SDK, "PYTHONDONTWRITEBYTECODE": "1"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, text in {"execute.py": EXECUTE, "kernel.py": KERNEL}.items():
            pathlib.Path(cls.directory, name).write_text(text)

    def execute(self, name, *cells):
        out = self.finish(self.start(self.bin + "/python", "execute.py", name, *cells))[0]
        return [json.loads(line) for line in out.splitlines() if line.startswith("[")]

    def shown(self, name):
        return json.loads(self.yard("show", name, "--json")[0])

    def html(self, outputs):
        return "".join("".join(output.get("data", {}).get("text/html", "")) for output in outputs)

    def picture(self, html):
        """It is well-formed, and loads and runs nothing."""
        self.assertNotIn("<script", html)
        begin, end = html.index("<svg"), html.index("</svg>") + len("</svg>")
        return xml.etree.ElementTree.fromstring(html[begin:end])


class NotebookTest(NotebookCase):

    def test_the_example_runs(self):
        outputs = self.execute(NOTEBOOK)
        for name in ("notebook", "without-momentum"):
            shown = self.shown(name)
            self.assertEqual((shown["state"], shown["reports"], shown["labels"]), ("done", 100, ["notebook"]), name)
        # The cell that shows the run has its last curves, though it ran before the training.
        live = self.html(outputs[2])
        self.assertIn("<i>finished</i>", live)
        words = [element.text for element in self.picture(live).iter() if element.tag.endswith("text")]
        self.assertEqual((words[0], words[3:5]), ("loss", ["1", "100"]))
        self.assertIn("without-momentum", self.html(outputs[5]) + self.html(outputs[6]))

    def test_what_the_magic_shows(self):
        self.execute("", "import yard\nrun = yard.init(name='<b>bold', config={'<i>': '<u>'}, labels='shown', note='<s>')\n"
                     "for step in range(5000):\n    run.report({'<loss>': float('nan') if step == 7 else step % 50}, step=step)\n"
                     "run.finish()")
        read = lambda: json.loads(self.yard("runs", "label:shown", "--json")[0] or "{}").get("points")
        self.await_true(lambda: read() == 5000, read)
        loaded, runs, plot, known, wrong, missing, tensorboard = self.execute(
            "", "%load_ext yard", "%yard runs label:shown", "%yard plot '<b>bold' -m '<loss>'", "import yard; yard.run('<b>bold')",
            "%yard what", "%yard plot nothing", "%yard tensorboard --bad_flag")
        self.assertEqual(loaded, [])
        self.assertIn("<td>&lt;b&gt;bold</td><td>done</td><td>5000</td><td>shown</td><td>&lt;s&gt;</td>", self.html(runs))
        for outputs in (plot, known):
            html = self.html(outputs)
            for word in ("<b>bold", "<loss>", "<i>'", "<u>", "<s>"):
                self.assertNotIn(word, html)
            drawing = self.picture(html)
            lines = [element for element in drawing.iter() if element.tag.endswith("polyline")]
            self.assertEqual(len(lines), 1)
            # Few points, and yet the highest and the lowest of each column.
            places = [tuple(map(float, place.split(","))) for place in lines[0].get("points").split()]
            self.assertLess(len(places), 4 * 400)
            self.assertEqual(({place[1] for place in places[:20]} & {22.0}, min(place[1] for place in places)), ({22.0}, 22.0))
        self.assertIn("&lt;i&gt;", self.html(known))
        said = lambda outputs: "".join(output.get("evalue", "") + "".join(output.get("text", "")) for output in outputs)
        self.assertIn("usage: %yard runs [QUERY]", said(wrong))
        self.assertIn("nothing", said(missing))
        self.assertIn("yard is not on PATH", said(tensorboard))

    def test_tensorboard_in_the_notebook(self):
        path = ":".join([os.path.dirname(os.path.abspath(self.yard_program)), os.path.join(os.environ["YARD_PEERS"], "tensorboard", "bin")])
        set_path = "import os; os.environ['PATH'] = %r + ':' + os.environ['PATH']" % path
        _, _, first, second = self.execute("", "%load_ext yard", set_path, *2 * ["%yard tensorboard --logdir runs --port 0"])
        self.assertIn("<iframe", self.html(first), first)
        tool, = [row for row in map(json.loads, self.yard("status", "--json")[0].splitlines()) if "tool" in row]
        self.addCleanup(self.yard, "stop", tool["id"])
        # The second one is the first one again.
        for outputs in (first, second):
            self.assertIn("<iframe src='%s'" % tool["url"], self.html(outputs), outputs)
        with urllib.request.urlopen(tool["url"] + "data/environment", timeout=yard_case.LONG) as answer:
            self.assertIn("GrpcDataProvider", json.load(answer)["debug"]["data_provider"])

    def test_a_kernel_that_ends(self):
        for name, state, reason in [("shut_down", "done", ""), ("restarted", "failed", "its kernel was restarted"),
                                    ("killed", "failed", "ended without yard.finish()")]:
            with self.subTest(name):
                self.finish(self.start(self.bin + "/python", "kernel.py", name))
                self.await_true(lambda: self.shown(name)["state"] == state, lambda: self.shown(name))
                self.assertIn(reason, self.shown(name)["reason"])
        self.assertEqual(self.shown("after_it")["state"], "done")


if __name__ == "__main__":
    xml_runner.main()
