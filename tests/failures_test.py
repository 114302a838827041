"""The block that `yard launch` prints last names what failed first, whatever it was and whoever ended after it."""

import dataclasses
import json
import os
import pathlib
import re
import select
import signal

from bazel.python import xml_runner
from tests import yard_case

# Each task is a shell with one of these parts. None has to wait for a time: the culprit begins once
# the others are up, and they end when they are asked to, or see the culprit's end as one sees that of
# a connection, by a pipe that is closed.
WAITS = """
echo up; exec 6<$FOLDER/life; echo up > $FOLDER/up; exec cat $FOLDER/never
"""
# A task says its last words before another one sees its end; but the time of words is that at which they
# were read, which a busy machine does late. So this one looks whether they were ($SAID: the log of them).
FOLLOWS = """
exec 6<$FOLDER/life; echo up > $FOLDER/up; read line <&6
[ -z "$SAID" ] || until [ -s $LOGS/$YARD_JOB_ID/$SAID ]; do sleep 0.01; done
echo connection lost >&2; exit 9
"""
BEGINS = """
exec 5>$FOLDER/life 4<>$FOLDER/up
[ -n "$ALONE" ] || { read up <&4; read up <&4; }
"""
# Not in mid-air: the test has been told the process id, and kills.
IS_KILLED = "echo $$ > $FOLDER/pid; exec cat $FOLDER/never"

RAISES = """exec python3 -c '
def train():
    raise ValueError("no such feature")
train()'"""
CRASHES = "exec python3 -c 'import ctypes; ctypes.string_at(0)'"
ALLOCATES = "echo allocating >&2; exec python3 -c 'x = bytearray(%d << 20)'"


@dataclasses.dataclass
class Failure:
    """The behaviour of one task of three, and the text that the block must have about it."""
    culprit: str
    does: str
    reason: str  # A regular expression.
    exit_code: int
    last_line: str = ""
    others: str = WAITS
    flags: tuple = ()
    attempt: int = 1
    also: str = ""  # A regular expression.
    tasks: tuple = ("worker-0", "worker-1", "worker-2")


FAILURES = {
    "an_exit_code_of_the_first_rank": Failure(
        "worker-0", "echo first >&2; exit 3", "exit code 3", 3, "first"),
    "an_exit_code_of_the_middle_rank": Failure(
        "worker-1", "echo told on stdout; exit 255", "exit code 255", 255, "told on stdout"),
    "an_exit_code_of_the_last_rank": Failure(
        "worker-2", "echo last >&2; exit 1", "exit code 1", 1, "last"),
    "an_exception_of_the_first_rank": Failure(
        "worker-0", RAISES, "exit code 1", 1, "ValueError: no such feature"),
    "an_exception_of_the_middle_rank": Failure(
        "worker-1", RAISES, "exit code 1", 1, "ValueError: no such feature"),
    "an_exception_of_the_last_rank_while_the_others_lose_it": Failure(
        "worker-2", RAISES, "exit code 1", 1, "ValueError: no such feature", FOLLOWS),
    "a_segfault_of_the_first_rank": Failure(
        "worker-0", CRASHES, r"signal 11 \(Segmentation fault\)", 139),
    "a_segfault_of_the_middle_rank_while_the_others_lose_it": Failure(
        "worker-1", "echo crashes >&2;" + CRASHES, r"signal 11 \(Segmentation fault\)", 139, "crashes",
        FOLLOWS),
    "a_segfault_of_the_last_rank": Failure(
        "worker-2", CRASHES, r"signal 11 \(Segmentation fault\)", 139),
    "an_abort_of_the_last_rank": Failure(
        "worker-2", "exec python3 -c 'import os; os.abort()'", r"signal 6 \(Aborted\)", 134),
    "a_kill_from_outside_of_the_first_rank": Failure(
        "worker-0", IS_KILLED, r"signal 9 \(Killed\)", 137),
    "a_kill_from_outside_of_the_middle_rank_while_the_others_lose_it": Failure(
        "worker-1", "echo trains >&2;" + IS_KILLED, r"signal 9 \(Killed\)", 137, "trains", FOLLOWS),
    "a_kill_from_outside_of_the_last_rank": Failure(
        "worker-2", IS_KILLED, r"signal 9 \(Killed\)", 137),
    "too_little_address_space_of_the_middle_rank": Failure(
        "worker-1", ALLOCATES % 4096, "exit code 1", 1, "MemoryError",
        flags=("--limits", "as=2GiB")),
    "a_full_disk_of_the_first_rank": Failure(
        "worker-0", "exec cat /etc/passwd > /dev/full", "exit code 1", 1,
        "cat: write error: No space left on device"),
    "a_full_disk_of_the_middle_rank": Failure(
        "worker-1", "exec python3 -c 'print(1, file=open(\"/dev/full\", \"w\"), flush=True)'",
        "exit code 1", 1, "OSError: [Errno 28] No space left on device"),
    "a_full_disk_of_the_last_rank_while_the_others_lose_it": Failure(
        "worker-2", "exec python3 -c 'open(\"/dev/full\", \"wb\", 0).write(b\"x\")'",
        "exit code 1", 1, "OSError: [Errno 28] No space left on device", FOLLOWS),
    "a_file_of_the_last_rank_that_grows_past_its_limit": Failure(
        "worker-2", "exec dd if=/dev/zero of=$FOLDER/big bs=65536 count=20",
        r"signal 25 \(File size limit exceeded\)", 153, flags=("--limits", "fsize=1MiB")),
    "restarts_that_are_used_up": Failure(
        "worker-1", "echo attempt $TORCHELASTIC_RESTART_COUNT >&2; exit 4", "exit code 4.*", 4,
        "attempt 2", attempt=3, flags=("--restart", "on-failure", "--max_restarts", "2")),
    "restarts_of_the_gang_that_are_used_up": Failure(
        "worker-2", "echo attempt $TORCHELASTIC_RESTART_COUNT >&2; exit 4", "exit code 4.*", 4,
        "attempt 1", attempt=2, flags=("--gang", "--max_restarts", "1")),
    "the_chief": Failure(
        "chief-0", "echo chief >&2; exit 7", "exit code 7", 7, "chief",
        tasks=("chief-0", "worker-0", "worker-1")),
    "a_worker_beside_a_chief_that_loses_it": Failure(
        "worker-1", RAISES, "exit code 1", 1, "ValueError: no such feature", FOLLOWS,
        tasks=("chief-0", "worker-0", "worker-1")),
    "a_grandchild_that_holds_the_output": Failure(
        "worker-0", "cat $FOLDER/never 5>&- & echo parent >&2; exit 3",
        r"exit code 3.*held open by pid \d+ \(cat\).*", 3, "parent"),
    "a_grandchild_that_holds_the_output_while_the_others_lose_it": Failure(
        "worker-2", "cat $FOLDER/never 5>&- &" + RAISES,
        "exit code 1.*", 1, "ValueError: no such feature", FOLLOWS),
}


def parse(text):
    """The block at the end of what yard has written: its headline, last lines and rows."""
    head, *rest = text[text.rindex("\n\n") + 2:].splitlines()
    last_lines = [line[4:] for line in rest if line.startswith("  | ")]
    rows = dict(re.fullmatch(r"  (\w+) +(.*)", line).groups()
                for line in rest if not line.startswith("  | "))
    return head, last_lines, rows


class JobCase(yard_case.YardCase):
    def setUp(self):
        self.folder = os.path.join(self.directory, self.id().split(".")[-1])
        os.mkdir(self.folder)
        for fifo in ("life", "up", "never", "pid"):
            os.mkfifo(os.path.join(self.folder, fifo))

    def launch(self, tasks, flags=(), said="", **more):
        """`tasks`: what each does, by name; `said`: $SAID; `more`: other keys of the job."""
        types = {}
        for name, does in tasks.items():
            kind, _, index = name.rpartition("-")
            types.setdefault(kind, {})[index] = does
        environment = {"FOLDER": self.folder, "LOGS": os.path.join(self.environment["YARD_STATE"], "jobs"), "SAID": said}
        job = {"environment": environment, "stop_grace": "20s", "tasks": {}, **more}
        for kind, scripts in types.items():
            cases = "".join("%s-%s) %s\n;;\n" % (kind, *script) for script in scripts.items())
            script = "case $ROLE_NAME-$ROLE_RANK in\n%s esac" % cases
            job["tasks"][kind] = {"count": len(scripts), "command": ["sh", "-c", script],
                                  "ready_pattern": "^up$"}
        return self.launch_job(job, flags)

    def launch_job(self, job, flags=()):
        path = pathlib.Path(self.folder, "job.json")
        path.write_text(json.dumps(job))
        return self.start_yard("launch", str(path), *flags)

    def pid_of_culprit(self, process):
        """Once it says it."""
        with open(os.open(self.folder + "/pid", os.O_RDONLY | os.O_NONBLOCK)) as file:
            poller = select.poll()
            poller.register(file, select.POLLIN)
            self.assertTrue(poller.poll(1000 * yard_case.LONG), process.args)
            return int(file.read())

    def check(self, failure, err):
        head, last_lines, rows = parse(err)
        self.assertRegex(head, r"^j-\w+ FAILED: %s: %s$" % (failure.culprit, failure.reason), err)
        self.assertEqual(err.count(" FAILED: "), 1, err)
        if failure.last_line:
            self.assertEqual(last_lines[-1], failure.last_line, err)
        job = head.split()[0]
        others = [task for task in failure.tasks if task != failure.culprit]
        self.assertEqual(rows.pop("ended"), "because of it: " + ", ".join(others), err)
        self.assertRegex(rows.pop("attempt"), r"^%d, after " % failure.attempt, err)
        self.assertEqual(rows.pop("next"), "yard logs %s/%s" % (job, failure.culprit), err)
        log = rows.pop("log")
        self.assertIn("/%s/%s.%d.std" % (job, failure.culprit, failure.attempt), log)
        written = pathlib.Path(log).read_text().splitlines()
        self.assertEqual(last_lines, written[len(written) - len(last_lines):], err)
        self.assertEqual(rows, {}, err)


class FailuresTest(JobCase):
    """Its cases are the FAILURES and those below."""

    def run_failure(self, failure):
        tasks = {task: failure.others for task in failure.tasks}
        tasks[failure.culprit] = BEGINS + failure.does
        if failure.attempt > 1 and "--gang" not in failure.flags:
            again = "[ -e $FOLDER/ran ] && ALONE=1; : > $FOLDER/ran"
            tasks[failure.culprit] = again + tasks[failure.culprit]
        said = "%s.%d.stderr" % (failure.culprit, failure.attempt) if failure.last_line else ""
        process = self.launch(tasks, failure.flags, said)
        if IS_KILLED in failure.does:
            os.kill(self.pid_of_culprit(process), signal.SIGKILL)
        self.check(failure, self.finish(process, failure.exit_code)[1])

    def launch_program(self, *command):
        """Launches a job whose ps-0 runs `command` once two workers are up."""
        script = "echo up; exec cat $FOLDER/never"
        return self.launch_job({
            "environment": {"FOLDER": self.folder},
            "tasks": {"worker": {"count": 2, "command": ["sh", "-c", script],
                                 "ready_pattern": "up"},
                      "ps": {"command": command, "start_after": {"worker": "ready"}}}})

    def check_program(self, exit_code, reason, *command):
        _, err = self.finish(self.launch_program(*command), exit_code)
        head, last_lines, rows = parse(err)
        self.assertRegex(head, r"^j-\w+ FAILED: ps-0: .*%s" % reason, err)
        self.assertEqual(last_lines, [], err)
        self.assertEqual(rows["ended"], "because of it: worker-0, worker-1", err)

    def test_a_program_that_is_not_there(self):
        self.check_program(127, "not found", self.folder + "/gone")

    def test_a_program_that_is_not_on_the_path(self):
        self.check_program(127, "no-such-program", "no-such-program")

    def test_a_program_that_cannot_be_executed(self):
        pathlib.Path(self.folder, "data").write_text("x")
        self.check_program(126, "not executable", self.folder + "/data")

    def test_the_time_of_the_job(self):
        tasks = {"worker-%d" % rank: "echo up; exec cat $FOLDER/never" for rank in range(3)}
        head, last_lines, rows = parse(
            self.finish(self.launch(tasks, max_run_time="2s"), exit_code=5)[1])
        self.assertRegex(head, r"^j-\w+ FAILED: its time of 2s is over$")
        self.assertEqual(last_lines, [])
        self.assertEqual(rows["ended"], "because of it: worker-0, worker-1, worker-2")

    def test_a_failure_before_the_time_of_the_job_is_over(self):
        tasks = {"worker-%d" % rank: WAITS for rank in (0, 2)}
        tasks["worker-1"] = BEGINS + "echo no >&2; exit 3"
        head, last_lines, _ = parse(
            self.finish(self.launch(tasks, max_run_time="2s", keep_going=True), exit_code=3)[1])
        self.assertRegex(head, r"^j-\w+ FAILED: worker-1: exit code 3$")
        self.assertEqual(last_lines, ["no"])

    def test_two_at_once(self):
        wait = "exec 6<$FOLDER/life; echo up > $FOLDER/up; read line <&6; "
        tasks = {"worker-0": wait + "exit 3", "worker-2": wait + "exit 4",
                 "worker-1": BEGINS + "exec 5>&-; exec cat $FOLDER/never"}
        process = self.launch(tasks)
        out, err = process.communicate(timeout=yard_case.LONG)
        self.assertIn(process.returncode, (3, 4), out + err)
        first, second = (0, 2) if process.returncode == 3 else (2, 0)
        head, _, rows = parse(err)
        self.assertRegex(head, "FAILED: worker-%d: exit code %d$" % (first, process.returncode))
        self.assertEqual(rows["ended"], "because of it: " + ", ".join(
            "worker-%d" % rank for rank in sorted({1, second})))

    def test_a_disk_too_full_for_the_log(self):
        logs = pathlib.Path(self.folder, "logs")
        logs.mkdir()
        (logs / "worker-1.1.stderr").symlink_to("/dev/full")
        tasks = {"worker-%d" % rank: WAITS for rank in (0, 2)}
        tasks["worker-1"] = BEGINS + "echo not kept >&2; exit 28"
        head, last_lines, rows = parse(
            self.finish(self.launch(tasks, log_directory=str(logs)), exit_code=28)[1])
        self.assertRegex(head, "FAILED: worker-1: exit code 28.*9 bytes of output could not be written")
        self.assertEqual(rows["ended"], "because of it: worker-0, worker-2")


class MemoryGroupTest(JobCase):
    """Where the launcher can make control groups."""

    def run_out_of_memory(self, culprit):
        others = ["worker-%d" % rank for rank in range(3) if rank != culprit]
        tasks = {task: WAITS for task in others}
        takes = "bytearray(256 << 20); raise SystemExit(3)"
        tasks["worker-%d" % culprit] = BEGINS + "echo allocating >&2; exec python3 -c '%s'" % takes
        process = self.launch(tasks, ("--memory", "64MiB"))
        out, err = process.communicate(timeout=yard_case.LONG)
        if process.returncode == 3:  # A limit that the machine does not offer cannot be tried, but must be told.
            self.assertIn("its memory could not be limited", err)
            return
        self.assertEqual(process.returncode, 137, out + err)
        head, last_lines, rows = parse(err)
        self.assertRegex(head, "FAILED: worker-%d: signal 9.*memory" % culprit)
        self.assertEqual(last_lines, ["allocating"])
        self.assertIn("out of memory", rows["attempt"])
        self.assertEqual(rows["ended"], "because of it: " + ", ".join(others))

    def test_a_first_rank_that_takes_more_memory_than_it_may(self):
        self.run_out_of_memory(0)

    def test_a_middle_rank_that_takes_more_memory_than_it_may(self):
        self.run_out_of_memory(1)

    def test_a_last_rank_that_takes_more_memory_than_it_may(self):
        self.run_out_of_memory(2)


def _add(name, failure):
    setattr(FailuresTest, "test_" + name, lambda self: self.run_failure(failure))


for _name, _failure in FAILURES.items():
    _add(_name, _failure)

if __name__ == "__main__":
    xml_runner.main()
