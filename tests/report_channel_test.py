"""The report channel of docs/report-channel.md, from real programs to the files of their runs: those that
lost descriptor 3 on the way, that know little of the protocol, or misuse it."""

import json
import os
import pathlib
import socket

from bazel.python import xml_runner
from tests import yard_case

SDK = str(pathlib.Path("sdk/python").absolute())

# The program that a launcher of launchers starts in the end.
INNER = """
import os, stat, yard
try:
    is_socket = stat.S_ISSOCK(os.fstat(3).st_mode)
except OSError:
    is_socket = None
with yard.Reporter() as reporter:
    print("descriptor 3:", is_socket, "connected:", reporter.connected, reporter.config, flush=True)
    for step in range(1, 4):
        reporter.report(loss=1 / step, step=step)
"""

# Python's subprocess closes it.
BY_SUBPROCESS = """
import subprocess, sys
sys.exit(subprocess.run([sys.executable, "-c", %r]).returncode)
""" % INNER

# Others give its number to a file of their own.
BY_ANOTHER_FILE = """
import os, sys
os.close(3)
assert os.open("stolen", os.O_CREAT | os.O_RDWR) == 3
os.set_inheritable(3, True)
os.execv(sys.executable, [sys.executable, "-c", %r])
""" % INNER

# As a program without any library speaks: no hello, no seq. `ask` returns the answer.
RAW = """
import json, os, socket
channel = socket.socket(fileno=os.dup(3))
answers = channel.makefile("rb")
def ask(line):
    channel.sendall((line if isinstance(line, bytes) else line.encode()) + b"\\n")
    return json.loads(answers.readline())
"""

MISUSE = RAW + """
def report(n, size):
    head = '{"t":"report","m":{"n":%d},"pad":"' % n
    return head + "x" * (size - len(head) - 2) + '"}'
for line in ['{"t":"report","m":{"n":1}}', "nonsense", "", '{"t":"report","m":{"n":', b"\\xff\\xfe",
             '{"t":"report","m":7}', '{"t":"telepathy","m":{}}', "[" * 100000,
             report(7, (1 << 20) + 1), report(2, 1 << 20), '{"t":"report","m":{"n":NaN}}',
             '{"t":"report","m":{"n":4},"done":true}']:
    answer = ask(line)
    print(answer["t"], answer.get("code", ""), flush=True)
"""

SECOND = """
import os, yard
first = yard.Reporter()
first.report(n=1)
try:
    yard.Reporter(fd="", path=os.environ["YARD_SOCKET"])
    print("there are two reporters")
except yard.Error as error:
    print(error.code, flush=True)
first.report(n=2)
"""

SAVES_AFTER_STOP = """
import os, yard
with yard.Reporter() as reporter:
    while reporter.report(a=1):
        pass
    with reporter.save(7) as directory:
        with open(os.path.join(directory, "state"), "w") as file:
            file.write("the last")
    try:
        with reporter.save(8):
            print("saves for ever")
    except yard.Error as error:
        print(error, flush=True)
"""

NAMES_A_DIRECTORY = RAW + """
directory = os.path.join(os.environ["YARD_LOGDIR"], "mine")
os.mkdir(directory)
with open(os.path.join(directory, "state"), "w") as file:
    file.write("weights")
print(json.dumps(ask('{"t":"report","m":{"loss":1},"step":9,"ckpt":"mine"}')))
print(json.dumps(ask('{"t":"report","m":{"loss":1},"ckpt":"../.."}')))
"""

SAYS_TO_THE_LOG = """
import yard
with yard.Reporter() as reporter:
    for epoch in range(1, 13):
        reporter.log("epoch %d" % epoch)
        reporter.report(loss=1 / epoch)
    reporter.log("best:\\n  \\x1b[2Jepoch 12")
"""


class ReportChannelCase(yard_case.YardCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.environment["PYTHONPATH"] = SDK

    def run_program(self, name, program, *flags):
        """The output of the program, and its trial."""
        out, _ = self.yard("run", "--name", name, *flags, "--", "python3", "-c", program)
        return out, self.show(name)

    def show(self, trial):
        return json.loads(self.yard("show", "--json", trial)[0])

    def rows(self, name):
        path = pathlib.Path(self.directory, "runs", name, "result.json")
        return [json.loads(line) for line in path.read_text().splitlines()]


class ReportChannelTest(ReportChannelCase):
    def test_a_program_under_pythons_subprocess_reports_by_the_path(self):
        out, trial = self.run_program("subprocess", BY_SUBPROCESS, "--config", '{"lr": 2}')
        self.assertEqual(out, "descriptor 3: None connected: True {'lr': 2}\n")
        self.assertEqual((trial["state"], trial["reports"]), ("done", 3))
        self.assertEqual([row["loss"] for row in self.rows("subprocess")], [1, 1 / 2, 1 / 3])

    def test_a_file_that_has_the_descriptors_number_is_left_alone(self):
        out, trial = self.run_program("stolen", BY_ANOTHER_FILE)
        self.assertEqual(out, "descriptor 3: False connected: True {}\n")
        self.assertEqual(trial["reports"], 3)
        self.assertEqual(os.path.getsize(self.directory + "/stolen"), 0)

    def test_each_wrong_line_is_answered_and_costs_only_itself(self):
        out, trial = self.run_program("misuse", MISUSE)
        wrong = ["error INVALID_ARGUMENT"] * 8
        self.assertEqual([line.strip() for line in out.splitlines()],
                         ["ok"] + wrong + ["ok", "ok", "ok"])
        self.assertEqual((trial["state"], trial["reports"]), ("done", 4))
        self.assertEqual([str(row["n"]) for row in self.rows("misuse")], ["1", "2", "nan", "4"])

    def test_a_second_reporter_is_told_so_and_the_first_goes_on(self):
        out, trial = self.run_program("second", SECOND)
        self.assertEqual(out, "ALREADY_EXISTS\n")
        self.assertEqual(trial["reports"], 2)

    def test_what_a_program_says_to_its_log_is_shown(self):
        out, trial = self.run_program("says", SAYS_TO_THE_LOG)
        self.assertEqual(out, "")
        said = ["epoch %d" % epoch for epoch in range(1, 13)] + ["best:\n  \x1b[2Jepoch 12"]
        self.assertEqual([line["text"] for line in trial["log"]], said)
        times = [line["time"] for line in trial["log"]]
        self.assertEqual(times, sorted(times))
        self.assertTrue(trial["created"] <= times[0] and times[-1] <= trial["ended"], trial)
        shown = [line[11:] for line in self.yard("show", "says")[0].splitlines() if line.startswith("log ")]
        self.assertEqual([line[29:] for line in shown[1:]],
                         ["epoch %d" % epoch for epoch in range(5, 13)] + ["best:", "  \\x1B[2Jepoch 12"])
        self.assertEqual((shown[0], shown[-2][:27]), ("(lines before these: --json)", times[-1]))

    def start_saver(self, name):
        self.yard("run", "--detach", "--name", name, "--", "python3", "-c", SAVES_AFTER_STOP)
        self.yard("watch", name, "-n", "1")

    def test_after_a_stop_a_program_saves_once(self):
        self.start_saver("saves")
        self.yard("stop", "saves")
        self.assertEqual(self.yard("logs", "saves", "--out", "--raw")[0],
                         "nothing more can be saved: the run was told to stop and has saved since\n")
        trial = self.show("saves")
        self.assertEqual(trial["state"], "stopped")
        saved = self.directory + "/runs/saves/checkpoint_000007"
        self.assertEqual([one["directory"] for one in trial["checkpoints"]], [saved])
        self.assertEqual(pathlib.Path(saved, "state").read_text(), "the last")

    def test_a_directory_that_is_no_checkpoint_yet_becomes_one(self):
        out, trial = self.run_program("named", NAMES_A_DIRECTORY)
        ok, error = map(json.loads, out.splitlines())
        run = self.directory + "/runs/named"
        self.assertEqual((ok["t"], ok["path"]), ("ok", run + "/checkpoint_000009"))
        self.assertEqual((error["t"], error["code"]), ("error", "INVALID_ARGUMENT"))
        self.assertEqual(pathlib.Path(ok["path"], "state").read_text(), "weights")
        self.assertIn(".manifest.json", os.listdir(ok["path"]))
        self.assertEqual([one["directory"] for one in trial["checkpoints"]], [ok["path"]])
        self.assertEqual(trial["reports"], 1)

    def test_a_wrong_nonce_is_refused_and_harms_nobody(self):
        self.start_saver("nonce")
        with socket.socket(socket.AF_UNIX) as shim:
            shim.settimeout(yard_case.LONG)
            shim.connect(self.environment["XDG_RUNTIME_DIR"] + "/yard/trainer-relay")
            shim.sendall(b'YARD1 00000000000000000000000000000000\n1 {"t":"fail","error":"x"}\n')
            with shim.makefile("rb") as answers:
                self.assertRegex(answers.readline(), b"^ERR ")
                self.assertEqual(answers.readline(), b"")
        self.yard("stop", "nonce")
        self.assertEqual(self.show("nonce")["state"], "stopped")


# Under torchrun: each rank is a process that torchrun has started by Python's subprocess.
RANK = """
import os, yard
if os.environ["RANK"] == "0":
    with yard.Reporter() as reporter:
        for step in range(1, 4):
            reporter.report(loss=1 / step, size=int(os.environ["WORLD_SIZE"]), step=step)
"""


class TorchrunTest(ReportChannelCase):
    peer = "torch"

    def test_rank_0_under_torchrun_reports_by_the_path(self):
        program = pathlib.Path(self.directory, "rank.py")
        program.write_text(RANK)
        # (Python 3.11 and torch 1.13 need the last two.)
        self.yard("run", "--name", "torchrun", "--", "python", "-m", "torch.distributed.run",
                  "--standalone", "--nproc_per_node=2", "--redirects=1", "--tee=1", str(program))
        self.assertEqual(self.show("torchrun")["reports"], 3)
        self.assertEqual([row["size"] for row in self.rows("torchrun")], [2, 2, 2])


if __name__ == "__main__":
    xml_runner.main()
