"""Runs of programs that nobody launched, without a yard, and how runs show themselves in a notebook."""

import contextlib
import csv
import io
import json
import math
import os
import resource
import shutil
import socket
import sys
import tempfile
import threading
import unittest
import xml.etree.ElementTree
from unittest import mock

_HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [_HERE, os.path.join(_HERE, "testing")]
import fake_yard
import xml_runner
import yard
from yard import attach, import_runs, notebook


@contextlib.contextmanager
def files_of_at_most(size):
    """As a disk that is full: a write comes up to there, the next one fails."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


class OfflineTest(unittest.TestCase):

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="sdk", dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.said = io.StringIO()

    def init(self, **words):
        with contextlib.redirect_stderr(self.said), mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": self.directory}):
            run = yard.init(directory=os.path.join(self.directory, "runs"), **words)
        self.addCleanup(run.finish)
        return run

    def read(self, run, name):
        with open(os.path.join(run.directory, name), encoding="utf-8", newline="") as file:
            return file.read()

    def read_bytes(self, run, name):
        with open(os.path.join(run.directory, name), "rb") as file:
            return file.read()

    def test_the_files_are_those_of_a_run(self):
        run = self.init(name="first", config={"lr": 0.1}, labels=["base"], note="by hand")
        run.report(loss=1.0, step=3)
        run.report({"eval": {"acc": 0.5}, "loss": math.nan, "said": 'a "b", c'}, step=4)
        run.config_update(depth=2)
        run.set(labels="late", remove_labels=["base"], name="Shown")
        with run.save() as directory:
            self.assertEqual(os.path.basename(directory), "checkpoint_000002")
        run.finish()
        rows = [json.loads(line) for line in self.read(run, "result.json").splitlines()]
        self.assertEqual([(row["step"], row["training_iteration"], row.get("loss")) for row in rows][0], (3, 1, 1.0))
        self.assertEqual(rows[1]["eval"], {"acc": 0.5})
        table = list(csv.DictReader(io.StringIO(self.read(run, "progress.csv"))))
        self.assertEqual([(row["step"], row["loss"], row["eval/acc"], row["said"]) for row in table],
                         [("3", "1.0", "", ""), ("4", "nan", "0.5", 'a "b", c')])
        self.assertEqual(json.loads(self.read(run, "params.json")), {"lr": 0.1, "depth": 2})
        self.assertEqual(json.loads(self.read(run, "annotations.json")),
                         {"labels": ["late"], "note": "by hand", "display_name": "Shown"})
        self.assertEqual(json.loads(self.read(run, "outcome.json"))["state"], "done")
        self.assertTrue(any("tfevents" in name for name in os.listdir(run.directory)))
        with self.assertRaisesRegex(yard.Error, "closed"):
            run.report(loss=1)

    def test_it_says_how_to_import_it_and_that_works(self):
        run = self.init(name="first")
        run.report(loss=1.0)
        run.finish()
        self.assertIn("no yard is up here", self.said.getvalue())
        self.assertEqual(self.said.getvalue().split()[-3:], ["yard", "import", run.directory])
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(import_runs.main(["--logdir", self.directory + "/other", run.directory]), 0)
        self.assertEqual(sorted(os.listdir(self.directory + "/other/first")), sorted(os.listdir(run.directory)))
        self.assertIn("other/first", out.getvalue())

    def test_a_taken_name_gets_a_number_and_a_bad_one_is_refused(self):
        self.assertEqual([self.init(name="a").name, self.init(name="a").name], ["a", "a-2"])
        self.assertTrue(self.init().name)
        for name in (".a", "-a", "a/b", "a\nb", "x" * 201):
            with self.assertRaisesRegex(yard.Error, "cannot call a run"):
                self.init(name=name)
        with self.assertRaisesRegex(yard.Error, "yard up"):
            self.init(offline=False)

    def test_runs_of_a_process(self):
        one, two = self.init(), self.init()
        self.assertIs(yard.active(), two)
        two.finish()
        self.assertIs(yard.active(), one)
        with self.assertRaises(KeyError):
            with self.init(name="fails") as third:
                raise KeyError("x")
        self.assertEqual(json.loads(self.read(third, "outcome.json"))["reason"], "KeyError: 'x'")
        self.init(finish_earlier=True)
        self.assertTrue(one._finished)
        yard.finish()
        self.assertIsNone(yard.active())

    def test_an_integration_reports_to_it(self):
        from yard import integrations
        run = self.init()
        self.assertIs(integrations.shared_reporter(), run)
        run.finish()

    def test_a_metric_that_is_no_number_is_named(self):
        with self.assertRaisesRegex(TypeError, "metric eval/what cannot be a object"):
            self.init().report(eval={"what": object()})


    def test_a_report_that_the_disk_does_not_take_is_an_error_and_leaves_no_half_line(self):
        run = self.init(name="first")
        run.report(loss=1.0, step=1)
        before = {name: self.read_bytes(run, name) for name in os.listdir(run.directory)}
        for name in ("result.json", "progress.csv"):
            with self.subTest(full=name), files_of_at_most(len(before[name]) + 20):
                with self.assertRaisesRegex(yard.Error, "cannot write .*/first/.*: File too large"):
                    run.report(loss=2.0, step=2)
                with self.assertRaisesRegex(yard.Error, "cannot write .*/first/progress.csv: File too large"):
                    run.report({"x" * 5000: 1}, step=2)
            self.assertEqual({name: self.read_bytes(run, name) for name in os.listdir(run.directory)}, before)
        run.report(loss=3.0, accuracy=0.5, step=3)
        rows = [json.loads(line) for line in self.read(run, "result.json").splitlines()]
        self.assertEqual([(row["training_iteration"], row["step"], row["loss"]) for row in rows], [(1, 1, 1.0), (2, 3, 3.0)])
        table = list(csv.DictReader(io.StringIO(self.read(run, "progress.csv"))))
        self.assertEqual([(row["step"], row["accuracy"]) for row in table], [("1", ""), ("3", "0.5")])

    def test_a_description_that_the_disk_does_not_take_is_an_error(self):
        run = self.init(name="first", config={"lr": 0.1})
        with files_of_at_most(5), self.assertRaisesRegex(yard.Error, "cannot write .*/params.json: File too large"):
            run.config_update(depth=2)
        self.assertEqual(json.loads(self.read(run, "params.json")), {"lr": 0.1})
        self.assertNotIn("params.json.new", os.listdir(run.directory))

    def test_a_checkpoint_is_there_as_a_whole_or_not_at_all(self):
        run = self.init(name="first")
        place = os.path.join(run.directory, "checkpoint_000005")
        before = sorted(os.listdir(run.directory))

        def save(text, error=None):
            with run.save(step=5) as directory:
                with open(os.path.join(directory, "weights"), "w", encoding="utf-8") as file:
                    file.write(text)
                if error is not None:
                    raise error
        with self.assertRaises(KeyboardInterrupt):
            save("bad", KeyboardInterrupt())
        self.assertEqual(sorted(os.listdir(run.directory)), before)
        self.assertIsNone(run.saved)
        save("good")
        self.assertEqual(run.saved, place)
        with self.assertRaises(KeyError):
            save("bad", KeyError())
        self.assertEqual(self.read(run, "checkpoint_000005/weights"), "good")
        save("better")
        self.assertEqual(self.read(run, "checkpoint_000005/weights"), "better")
        self.assertEqual(sorted(os.listdir(run.directory)), sorted(before + ["checkpoint_000005"]))


class ImportTest(unittest.TestCase):
    """Runs that were written without a yard and are not whole."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="sdk", dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.directory)

    def run_of(self, name, rows, params="{}"):
        source = os.path.join(self.directory, "offline", name)
        os.makedirs(source)
        for member, text in (("result.json", rows), ("params.json", params), ("provenance.json", "{}")):
            with open(os.path.join(source, member), "w", encoding="utf-8") as file:
                file.write(text)
        return source

    def bring(self, *sources):
        """Exit code, objects that were printed, and what was said."""
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            code = import_runs.main(["--json", "--logdir", os.path.join(self.directory, "runs"), *sources])
        return code, [json.loads(line) for line in out.getvalue().splitlines()], err.getvalue()

    def test_only_metrics_are_counted(self):
        rows = json.dumps({"step": 1, "done": False, "training_iteration": 1, "time_this_iter_s": 0.5, "timestamp": 17,
                           "pid": 3, "eval": {"acc": 1}, "loss": 0.5, "said": "x"}) + "\n"
        code, (run,), _ = self.bring(self.run_of("a", rows))
        self.assertEqual((code, run["values"], run["tags"], run["damage"]), (0, 2, 2, ""))

    def test_a_run_that_is_damaged_comes_up_to_there_and_so_do_the_others(self):
        row = '{"step": 1, "timestamp": 17, "loss": 1}\n'
        for name, rows in (("torn", row + '{"step": 2, "timest'), ("no-step", row + '{"timestamp": 17, "loss": 1}\n' + row),
                           ("no-time", row + '{"step": 2, "loss": 1}\n'), ("list", row + "[1]\n")):
            with self.subTest(name):
                code, (run, good), _ = self.bring(self.run_of(name, rows), self.run_of("after-" + name, row))
                self.assertEqual((code, run["imported"], run["values"]), (1, True, 1))
                self.assertRegex(run["damage"], "result.json: line 2 is no report")
                self.assertTrue(os.path.exists(os.path.join(run["directory"], "result.json")))
                self.assertEqual((good["imported"], good["values"], good["damage"]), (True, 1, ""))
        code, (run,), _ = self.bring(self.run_of("params", row, params='{"lr": 0.'))
        self.assertEqual((code, run["imported"], run["values"], run["parameters"]), (1, True, 1, 0))
        self.assertRegex(run["damage"], "params.json is no JSON object")

    def test_a_source_that_is_broken_in_another_way_does_not_keep_the_others_away(self):
        row = '{"step": 1, "timestamp": 17, "loss": 1}\n'
        with mock.patch.object(import_runs, "_own_run", side_effect=[KeyError("x"), ValueError("y"), mock.DEFAULT],
                               return_value=import_runs.Run("c", self.directory)):
            code, runs, said = self.bring(*[self.run_of(name, row) for name in "abc"])
        self.assertEqual((code, [run["run"] for run in runs]), (1, ["c"]))
        self.assertEqual(said.count("cannot import"), 2)


class OverTest(unittest.TestCase):

    def test_a_trial_that_was_ended_without_it_says_stop(self):
        def answer(message):
            if message["t"] == "report":
                return {"t": "error", "code": "CANCELLED", "error": "trial t-abcde has ended (Stopped)"}
            return fake_yard.obliging(message)

        with fake_yard.FakeYard(answer) as fake:
            with yard.Reporter(fd="%d:%d" % (fake.fd, os.fstat(fake.fd).st_ino)) as reporter:
                reply = reporter.report(loss=1)
        self.assertFalse(reply)
        self.assertEqual(reply.reason, "stop")


class ExitTest(unittest.TestCase):
    """The end of a process whose yard is away."""

    def end_of_process(self, run, failure=""):
        with mock.patch.object(attach, "_open", [run]), mock.patch.object(attach, "_LAST_WORDS", 0.3), \
                mock.patch.object(attach, "_failure", failure):
            ending = threading.Thread(target=attach._at_exit, daemon=True)
            ending.start()
            ending.join(20)
            self.assertFalse(ending.is_alive())
        self.assertTrue(run._finished)

    def test_it_does_not_wait_for_a_thread_that_reports(self):
        asked = threading.Event()

        def answer(message):
            if message["t"] == "report":
                asked.set()
                return None
            return fake_yard.obliging(message)
        with fake_yard.FakeYard(answer) as fake:
            run = attach.ActiveRun(fake.spec)
            threading.Thread(target=self.report, args=[run], daemon=True).start()
            self.assertTrue(asked.wait(20))
            self.end_of_process(run)

    def report(self, run):
        with contextlib.suppress(yard.Error):
            run.report(loss=1)

    def test_it_does_not_wait_for_a_thread_that_sends_nor_for_room_to_send(self):
        stays = threading.Event()

        def answer(message):
            if message["t"] == "log":
                stays.wait(60)
            return fake_yard.obliging(message)
        for is_thread in (False, True):
            stays.clear()
            with self.subTest(is_thread=is_thread), fake_yard.FakeYard(answer) as fake:
                run = attach.ActiveRun(fake.spec)
                run.log("x")
                with contextlib.suppress(BlockingIOError):
                    while True:
                        run._socket.send(b'{"t":"hb"}\n', socket.MSG_DONTWAIT)
                with run._send_lock if is_thread else contextlib.nullcontext():
                    self.end_of_process(run, "ValueError: x")
                stays.set()


class NotebookTest(unittest.TestCase):

    def parsed(self, html):
        return xml.etree.ElementTree.fromstring(html)

    def test_all_text_is_escaped(self):
        evil = "<script>alert('x')</script>\"&"
        line = notebook._Line(evil, [1, 2], [1.0, 2.0])
        html = notebook._card(evil, evil, [evil], evil, {evil: evil}, [line, line._replace(name=evil + "2")])
        self.assertNotIn("<script", html)
        self.assertNotIn("alert('", html)
        self.parsed(html)
        self.parsed(notebook.table([evil], [[evil]]))
        self.parsed(notebook.curve(evil, [line, line]))

    def test_any_numbers_have_a_picture(self):
        for values in ([1.0], [0.0, 0.0], [math.nan, 1.0, math.inf], [1e308, -1e308], [5e-324, 0.0], list(range(100_000))):
            picture = self.parsed(notebook.curve("loss", [notebook._Line("a", range(len(values)), values)]))
            self.assertEqual(len(picture), 1, values[:3])
        self.assertIn("no number yet", notebook.curve("loss", []))
        self.assertIn("no number yet", notebook.curve("loss", [notebook._Line("a", [1], [math.nan])]))

    def test_a_spike_stays(self):
        values = [0.0] * 100_000
        values[31_415] = 1.0
        places = notebook._places(list(enumerate(values)), 0, len(values) - 1, 0.0, 1.0)
        self.assertLess(len(places), 1600)
        self.assertEqual(min(down for _, down in places), notebook._TOP)
        steps, kept = attach._thinned(list(range(2001)), values[31_000:33_001])
        self.assertEqual(kept[steps.index(415)], 1.0)
        self.assertLessEqual(len(steps), 1002)


if __name__ == "__main__":
    xml_runner.main()
