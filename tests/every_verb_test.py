"""Every verb of the yard, as `yard --help` lists them: in a terminal, in a pipe, as JSON, and when nobody is there.

What is done with each is a row of verb_rows.py, and what its JSON looks like a file of verb_schemas/.
"""

import base64
import errno
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unicodedata

import jsonschema

from bazel.python import xml_runner
from tests import verb_rows
from tests import yard_case

SCHEMAS = pathlib.Path("tests/verb_schemas").absolute()
ROWS = verb_rows.ROWS
HOSTILE = verb_rows.HOSTILE
# The sequences that the yard itself may send to a terminal: colours, and to erase its own live
# line.
OWN_SEQUENCES = re.compile(r"\x1b\[[0-9;]*[mK]|\r")
TURNS_AROUND = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def controls(data):
    """The parts of `data` that would drive a terminal, but for the yard's own sequences, or that
    are no text."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return "no UTF-8: %s" % error
    text = OWN_SEQUENCES.sub("", text)
    return sorted({c for c in text if c not in "\t\n" and unicodedata.category(c) == "Cc" or c in TURNS_AROUND})


class Terminal:
    """A program in a terminal of its own, of 80 columns and 24 rows."""

    def __init__(self, words, **where):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        **where)
        os.close(slave)

    def finish(self, types, timeout):
        """Its exit code and what it has shown; `types` is typed once it has shown something."""
        shown = b""
        deadline = time.monotonic() + timeout
        while select.select([self.master], [], [], max(0, deadline - time.monotonic()))[0]:
            try:
                piece = os.read(self.master, 1 << 16)
            except OSError as error:
                if error.errno != errno.EIO:  # The error of Linux once nobody has the other end.
                    raise
                break
            if not piece:
                break
            shown += piece
            if types:
                os.write(self.master, types)
                types = b""
        else:
            self.process.kill()
        os.close(self.master)
        return self.process.wait(timeout), shown


class EveryVerbTest(yard_case.YardCase):
    up_words = ("--slots", "8", "--gate_port", str(yard_case.free_port()))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment["TERM"] = "xterm-256color"
        tensorboard = pathlib.Path(cls.directory, "bin", "tensorboard")
        tensorboard.parent.mkdir()
        tensorboard.write_text(verb_rows.TENSORBOARD)
        tensorboard.chmod(0o755)
        cls.environment["PATH"] = "%s:%s" % (tensorboard.parent, cls.environment["PATH"])
        cls.count = 0
        cls.help = subprocess.run([cls.yard_program, "--help"], env=cls.environment, capture_output=True, text=True,
                                  check=True).stdout
        cls.make_things()

    @classmethod
    def command(cls, *words):
        subprocess.run([cls.yard_program, *words], cwd=cls.directory, env=cls.environment, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=yard_case.LONG, check=True)

    @classmethod
    def make_things(cls):
        """The things that the rows name: first, second; and things with hostile names and output."""
        says = """printf 'first line\\n'; echo '{"t":"log","text":"warmed up"}' >&3; """ + verb_rows.REPORTS[2]
        cls.command("run", "--name", "first", "--label", "base", "--", "sh", "-c", says)
        cls.command("run", "--name", "second", "--seed", "1", "--", "sh", "-c",
                    verb_rows.REPORTS[2].replace("5", "7"))
        attacks = ('printf "%s\\n\\377\\n" "$0"; printf "%s\\n" "$0" >&2; '
                   "echo '{\"t\":\"log\",\"text\":\"a\\u001b[2Jb\\u202e\"}' >&3; "
                   "echo '{\"t\":\"report\",\"m\":{\"loss\":NaN,\"a\\u001b[2Jb\":1}}' >&3; read -r ok <&3")
        cls.command("run", "--name", "hostile", "--config", json.dumps({HOSTILE: HOSTILE}), "--", "sh", "-c", attacks,
                    HOSTILE)
        cls.command("launch", "--name", "hostile_job", "--", "sh", "-c", 'printf "%s\\n" "$0"', HOSTILE)
        subprocess.run([cls.yard_program, "run", "--name", "bad", "--", "sh", "-c", 'printf "%s\\n" "$0" >&2; exit 3',
                        HOSTILE], cwd=cls.directory, env=cls.environment, stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=yard_case.LONG, check=False)
        run = pathlib.Path(cls.directory, "runs", HOSTILE)
        run.mkdir()
        for events in pathlib.Path(cls.directory, "runs", "first").glob("events.*"):
            (run / events.name).write_bytes(events.read_bytes())
        cls.command("pub", "e/hostile/", json.dumps({"text": HOSTILE}))
        cls.command("sub", "e/hostile/", "--since", "1", "-n", "1", "--dump", "dumped", "--timeout", "60")

    def new_name(self):
        type(self).count += 1
        return "new-%d" % self.count

    def new_trial(self, *program, await_state="done"):
        name = self.new_name()
        self.yard("run", "--name", name, "--detach", "--grace", "100ms", "--", *program)
        self.await_true(lambda: self.document("show", name)["state"] == await_state, name + " is not " + await_state)
        if await_state == "running":
            # It would keep a slot.
            self.addCleanup(subprocess.run, [self.yard_program, "stop", name], env=self.environment,
                            capture_output=True, timeout=yard_case.LONG, check=False)
            self.await_true(lambda: self.document("show", name)["reports"] > 0, name + " has not reported")
        return name

    def new_job(self, *program):
        name = self.new_name()
        self.yard("launch", "--name", name, "--detach", "--", *program)
        self.await_true(lambda: self.yard("logs", name)[0], name + " says nothing")
        return name

    def document(self, *words):
        return json.loads(self.yard(*words, "--json")[0])

    def own_environment(self):
        """The environment of a yard that does not exist yet, and that is down after the test."""
        directory = tempfile.mkdtemp(dir=self.directory)
        environment = {**self.environment, "YARD_STATE": directory + "/state", "XDG_RUNTIME_DIR": directory}
        self.addCleanup(subprocess.run, [self.yard_program, "down"], env=environment, capture_output=True,
                        timeout=yard_case.LONG, check=True)
        return environment

    def own(self, *words):
        """A command for the yard of the row's own."""
        subprocess.run([self.yard_program, *words], cwd=self.directory, env=self.where, stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=yard_case.LONG, check=True)

    def words_of(self, verb, row, *more):
        """The command line of a row, once what it needs is there."""
        self.where = self.own_environment() if row.own_yard else self.environment
        thing = row.fresh(self) if row.fresh is not None else ""
        return [self.yard_program, verb, *more, *(thing if word == verb_rows.THING else word for word in row.words)]

    def in_pipe(self, words):
        """Exit code, stdout and stderr, as bytes."""
        process = subprocess.Popen(words, cwd=self.directory, env=self.where, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(timeout=yard_case.LONG)
        except subprocess.TimeoutExpired:
            process.kill()
            self.fail("%s has not ended: %s" % (words, process.communicate()))
        return process.returncode, out, err

    def in_terminal(self, words, types=b""):
        return Terminal(words, cwd=self.directory, env=self.where).finish(types, yard_case.LONG)

    def for_each_verb(self, check):
        for verb, row in ROWS.items():
            with self.subTest(verb=verb):
                check(verb, row)

    def test_each_verb_has_a_row(self):
        verbs = re.findall(r"^  (\w+)  +\S", self.help.partition("Verbs:\n")[2].partition("\n\n")[0], re.MULTILINE)
        self.assertGreater(len(verbs), 20, self.help)
        self.assertEqual(sorted(verbs), sorted(ROWS), "verb_rows.py has a row for each verb, and no other")
        self.assertEqual({path.stem for path in SCHEMAS.iterdir()} - {"things"}, set(verbs),
                         "verb_schemas/ has one for each verb, and no other")

    def test_help_begins_with_two_examples(self):
        self.where = self.environment

        def check(verb, _):
            code, out, err = self.in_pipe([self.yard_program, verb, "--help"])
            self.assertEqual((code, err), (0, b""))
            for line in out.decode().splitlines()[:2]:
                self.assertRegex(line, "^  yard %s" % verb)
        self.for_each_verb(check)

    def test_in_a_terminal(self):
        def check(verb, row):
            code, shown = self.in_terminal(self.words_of(verb, row), row.types)
            self.assertEqual(code, row.exit_code, shown)
            self.assertRegex(shown.decode(errors="replace"), row.says)
            self.assertRegex(shown.decode(errors="replace"), row.says_on_stderr)
            if not row.full_screen:
                self.assertFalse(controls(shown), shown)
        self.for_each_verb(check)

    def test_in_a_pipe(self):
        def check(verb, row):
            if row.full_screen:
                return
            code, out, err = self.in_pipe(self.words_of(verb, row))
            self.assertEqual(code, row.exit_code, out + err)
            self.assertRegex(out.decode(), row.says)
            self.assertRegex(err.decode(), row.says_on_stderr)
            self.assertNotIn(b"\x1b", out + err)
        self.for_each_verb(check)

    def check_json(self, verb, words, exit_code):
        schema = json.loads((SCHEMAS / (verb + ".json")).read_text())
        resolver = jsonschema.RefResolver(SCHEMAS.as_uri() + "/", schema)
        code, out, err = self.in_pipe(words)
        self.assertEqual(code, exit_code, out + err)
        lines = out.decode().splitlines()
        self.assertEqual(bool(lines), exit_code == 0, "a verb that is done says so as JSON")
        for line in lines:
            jsonschema.validate(json.loads(line), schema, resolver=resolver)
        read = subprocess.run(["jq", "-c", "."], input=out, capture_output=True, check=True).stdout
        self.assertEqual(len(read.splitlines()), len(lines))

    def test_as_json(self):
        self.for_each_verb(lambda verb, row: self.check_json(verb, self.words_of(verb, row, "--json"), row.exit_code))

    def test_each_other_form_of_json(self):
        self.where = self.environment

        def check(verb, row):
            if row.beside:
                self.start_yard(*row.beside)
            for words in row.also_json:
                with self.subTest(words=words):
                    self.check_json(verb, [self.yard_program, verb, "--json", *words], 0)
        self.for_each_verb(check)

    def test_what_strangers_have_named_drives_no_terminal(self):
        self.where = self.environment

        def check(verb, row):
            wrong = (("--" + HOSTILE,), (HOSTILE,), ("first", HOSTILE), ("first", "second", "third", HOSTILE))
            for words in wrong[:4 if row.takes_names else 1] + row.shows:
                for as_json in ((), ("--json",)):
                    with self.subTest(words=words, json=bool(as_json)):
                        code, shown = self.in_terminal([self.yard_program, verb, *as_json, *words])
                        self.assertGreaterEqual(code, 0, shown)
                        self.assertFalse(controls(shown), shown)
        self.for_each_verb(check)

    def test_values_that_json_does_not_have_are_read_by_jq(self):
        for kind, text in (("Points", "{steps: [9223372036854775807, -9223372036854775808], values: [nan, -inf, 0.1]}"),
                           ("TrialEvent", "{row: {row: 18446744073709551615, step: 9007199254740993}}")):
            self.yard("pub", "e/values/", "--type", kind, text)
        self.yard("pub", "e/values/", "--type", "json",
                  '{"n": [9007199254740993, 36893488147419103232, -9007199254740992]}')
        process = subprocess.run([self.yard_program, "pub", "e/values/", "-", "--raw"], env=self.environment,
                                 input=b"\xff\0\xed\xa0\x80 ok \x9b", capture_output=True, check=True)
        self.assertEqual(process.stderr, b"")
        out, _ = self.yard("sub", "e/values/", "--since", "1", "-n", "4", "--json")
        read = subprocess.run(["jq", "-c", ".body"], input=out, capture_output=True, text=True, check=True).stdout
        points, event, payload, raw = map(json.loads, read.splitlines())
        self.assertEqual(points["steps"], ["9223372036854775807", "-9223372036854775808"])
        self.assertEqual(points["values"], ["NaN", "-Infinity", 0.1])
        self.assertEqual((event["row"]["row"], event["row"]["step"]), ("18446744073709551615", "9007199254740993"))
        self.assertEqual(payload["payload"]["n"], ["9007199254740993", "36893488147419103232", -9007199254740992])
        self.assertEqual(base64.b64decode(raw["payload"]["base64"]), b"\xff\0\xed\xa0\x80 ok \x9b")
        program = """echo '{"t":"report","m":{"n":18446744073709551615}}' >&3; read -r ok <&3"""
        self.yard("run", "--name", "large", "--seed", "18446744073709551615", "--config", '{"n": -9007199254740993}',
                  "--", "sh", "-c", program)
        out, _ = self.yard("show", "large", "--json")
        read = subprocess.run(["jq", "-r", ".seed, .metrics.n, .config.n, .options.provenance.seed"], input=out,
                              capture_output=True, text=True, check=True).stdout
        self.assertEqual(read.split(), 2 * ["18446744073709551615"] + ["-9007199254740993", "18446744073709551615"])

    def test_without_a_yard(self):
        def check(verb, row):
            self.where = self.own_environment()
            code, out, err = self.in_pipe([self.yard_program, verb, *row.words])
            self.assertEqual(code, row.without_yard, out + err)
            if code == 4:
                self.assertEqual(out, b"")
                self.assertEqual(err.decode(), "yard %s: the yard is not up; start it with: yard up\n" % verb)
        self.for_each_verb(check)

    def test_when_no_service_answers(self):
        pids = [json.loads(line)["pid"] for line in self.yard("status", "--json")[0].splitlines()]
        for pid in pids:
            yard_case.stop_process(pid)
            self.addCleanup(os.kill, pid, signal.SIGCONT)
        # (`down` would end all of it: broken_yard_test.)
        processes = {verb: self.start_yard(verb, *row.words, *row.in_silence_words)
                     for verb, row in ROWS.items() if verb != "down"}

        def check(verb, row):
            if verb not in processes:
                return
            out, err = processes[verb].communicate(timeout=yard_case.LONG)
            self.assertIn(processes[verb].returncode, row.in_silence, out + err)
            if processes[verb].returncode in (4, 5):
                self.assertRegex(err, r"^yard %s: .*\b(registry|launcher|trainer|datamanager|web)\b" % verb)
        self.for_each_verb(check)


if __name__ == "__main__":
    xml_runner.main()
