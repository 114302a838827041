"""The rows of every_verb_test, one for each verb of the yard. A verb without a row fails the test.

A new verb gets a row here, and the schema of what it prints with `--json` in verb_schemas/VERB.json.
"""

import dataclasses
import tempfile
from typing import Callable, Optional

# Stands in a row for the name of what was made for it.
THING = "THING"

# Moves the cursor, names the window, rings, ends a line where none ends, turns text around; and is no UTF-8.
HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\x9b31m\u202egnp.exe"

# A program that reports twice, and ends well.
REPORTS = ("sh", "-c", """for i in 1 2; do echo '{"t":"report","m":{"loss":'$i'.5}}' >&3; read -r ok <&3; done""")
# A program that goes on until it is told to stop.
GOES_ON = ("sh", "-c", "echo up; exec sleep 1000000")
# The same, but it has reported, and ignores a signal.
TRAINS = ("sh", "-c", """trap '' USR1; echo '{"t":"report","m":{"loss":1}}' >&3; read -r ok <&3; exec sleep 1000000""")


# Stands in for TensorBoard: it serves, and says so in its info file. Other words than a yard's are not for it.
TENSORBOARD = r"""#!/usr/bin/python3
import base64, http.server, json, os, sys, time
if sys.argv[1] != "--logdir":
    sys.exit("no such words: %r" % sys.argv)
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
key = json.dumps({"arguments": sys.argv[1:], "configure_kwargs": {}, "working_directory": os.getcwd()},
                 sort_keys=True, separators=(",", ":"))
directory = os.path.join(os.environ["TMPDIR"], ".tensorboard-info")
os.makedirs(directory, exist_ok=True)
with open(os.path.join(directory, "pid-%d.info" % os.getpid()), "w") as info:
    json.dump({"version": "2.21.0", "start_time": int(time.time()), "pid": os.getpid(), "port": server.server_port,
               "path_prefix": "", "logdir": sys.argv[-1], "db": "",
               "cache_key": base64.b64encode(key.encode()).decode()}, info)
server.serve_forever()
"""


@dataclasses.dataclass
class Row:
    # After the verb; THING is what `fresh` has given.
    words: tuple = ()
    # Makes what the words need, before each time. It gets the test case.
    fresh: Optional[Callable] = None
    exit_code: int = 0
    # Other words, which show what strangers have named and printed: like `words`, but their --json has no schema.
    shows: tuple = ()
    # More words whose --json has the verb's schema; they end with 0. `beside` are words of a yard that runs meanwhile.
    also_json: tuple = ()
    beside: tuple = ()
    # The output on stdout, in a terminal and in a pipe, and on stderr: regular expressions.
    says: str = "^"
    says_on_stderr: str = "^"
    # Any word may be the name of a thing, that is not there then.
    takes_names: bool = True
    # It draws on the terminal, or typed keys end it.
    full_screen: bool = False
    types: bytes = b""
    # It needs a yard that nobody else uses: `words` begin or end it.
    own_yard: bool = False
    # How it ends without a yard, and when no service answers.
    without_yard: int = 4
    in_silence: tuple = (4, 5)
    # Words that make it end in silence, if it would wait.
    in_silence_words: tuple = ()


def a_trial(case):
    """A trial that has ended well."""
    return case.new_trial(*REPORTS)


def a_running_trial(case):
    return case.new_trial(*TRAINS, await_state="running")


def a_paused_trial(case):
    name = a_running_trial(case)
    case.yard("pause", name)
    return name


def a_job(case):
    """A job that is running."""
    return case.new_job(*GOES_ON)


def a_name(case):
    return case.new_name()


def a_sweep_file(_case):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
        file.write("method: grid\nmetric: {name: loss}\nparameters: {x: {values: [1]}}\ntrial: {output: json}\n")
    return file.name


def a_configuration(_case):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
        file.write("slots: 4\nresources: {gpu: [0, 1]}\nservices: {datamanager: {cache_mb: 64}}\n")
    return file.name


def a_fleet(case):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
        file.write("name: %s\ncommand: [sh, -c, 'echo up']\n" % case.new_name())
    return file.name


def a_csv_file(_case):
    with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False) as file:
        file.write("step,loss\n1,0.5\n")
    return file.name


def a_node(case):
    """A host of a pool that has never connected."""
    case.yard("call", "launcher", "SetNode", '{"name": "n1", "pool": "lab", "address": "nowhere"}')


def a_yard(case):
    case.own("up")


ROWS = {
    "up": Row(takes_names=False, says="registry +ready", own_yard=True, without_yard=0, in_silence=(4,)),
    "down": Row(takes_names=False, fresh=a_yard, own_yard=True, says="down", without_yard=0),
    "config": Row(("check", THING), takes_names=False, fresh=a_configuration, says=r"\.yaml is right",
                  shows=(("check", "/nowhere/" + HOSTILE), ("show",)),
                  also_json=(("show",), ("check", "--keys"), ("flags", "trainer")), without_yard=3, in_silence=(3,)),
    "gate": Row(("list",), takes_names=False, says="gate",
                shows=(("allow", HOSTILE), ("remove", HOSTILE), (HOSTILE,), ("role", "none", HOSTILE)),
                also_json=(("key",),), without_yard=0, in_silence=(0,)),
    "remote": Row(("add", "gpu1"), takes_names=False, says="type this on gpu1",
                  shows=(("add", HOSTILE), ("rm", HOSTILE), (HOSTILE,), ("add", "x", "--gate", HOSTILE)),
                  without_yard=0, in_silence=(0,)),
    "pool": Row(fresh=a_node, says="lab +n[0-9]* +nowhere +away",
                shows=((HOSTILE,), ("rm", HOSTILE), ("drain", HOSTILE), ("lab", "--hosts", HOSTILE),
                       ("lab", "--engine", HOSTILE), ("lab", "--engine", "slurm", "--time", HOSTILE))),
    "status": Row(says=r"trainer +up", shows=((),)),
    "doctor": Row(says="runtime directory", says_on_stderr="nothing is wrong|warning",
                  without_yard=0, in_silence=(1,)),
    "run": Row(("--name", THING, "--", *REPORTS), takes_names=False, fresh=a_name, says_on_stderr="done in .*2 reports"),
    # (It reads the file before it looks for a yard.)
    "sweep": Row((THING, "--", "sh", "-c", "echo '{\"loss\": {x}}'"), takes_names=False, fresh=a_sweep_file,
                 says="-0000  done", says_on_stderr="started", shows=(("/nowhere/" + HOSTILE,),), without_yard=3,
                 in_silence=(3,)),
    "launch": Row(("--name", THING, "--worker", "2", "--", "echo", "hello"), takes_names=False, fresh=a_name,
                  says=r"\[worker-1\]: +hello", shows=(("--dry-run", "--", HOSTILE),
                                                      ("/nowhere/" + HOSTILE,))),
    "apply": Row((THING,), takes_names=False, fresh=a_fleet, says="new-[0-9]+ +start +is new",
                 shows=(("/nowhere/" + HOSTILE,),), without_yard=3, in_silence=(3,)),
    "ps": Row(("-a",), says="first", shows=((), ("-t",), ("hostile",), ("bad",)),
              also_json=(("-t", "-a"), ("first",), ("hostile_job",), ("--label", "base", "--sort", "-loss"),
                         ("--state", "failed,done"))),
    "alerts": Row(takes_names=False, says="KIND|no alerts", shows=((), ("--ack", HOSTILE)),
                  also_json=(("-n", "3"), ("--ack", "all"))),
    # (The keys of the full screen are tested by top_test.)
    "top": Row(("--once",), takes_names=False, says=r"(?s)yard top .*trainer up", shows=(("--once", "-m", HOSTILE),)),
    "wait": Row((THING,), fresh=a_trial, says="done", in_silence_words=("--timeout", "5")),
    "stop": Row((THING,), fresh=a_job, in_silence=(4, 5)),
    "restart": Row((THING,), fresh=a_job),
    "signal": Row((THING, "USR1"), fresh=a_running_trial),
    "pause": Row((THING,), fresh=a_running_trial),
    "resume": Row((THING,), fresh=a_paused_trial),
    "tell": Row((THING, '{"lr": 1}'), fresh=a_running_trial),
    "rm": Row((THING,), fresh=a_trial),
    "trash": Row(("ls",), takes_names=False, says="runs? in /", shows=(("restore", HOSTILE), ("empty", HOSTILE), (HOSTILE,)),
                 also_json=(("empty",),)),
    "du": Row(says=r"first.*\n", shows=((HOSTILE,), ()), also_json=(("first", "-n", "1"),)),
    "tensorboard": Row(("--",), takes_names=False, says="^http://.*:", says_on_stderr="started: |runs already: "),
    "ui": Row(("first",), says="^http://127.0.0.1:[0-9]+/run/first#k=", says_on_stderr="opens once", shows=((HOSTILE,),),
              also_json=((),)),
    "runs": Row(says="first", shows=(("name~\"" + HOSTILE,), ("-n", "2"), ("--columns", HOSTILE)),
                also_json=(("--columns", "loss,max:loss,state", "--sort", "-loss", "-n", "2"),)),
    "show": Row(("first",), says=r"(?s)loss.*Z  warmed up", shows=(
        ("hostile",), ("bad",), ("hostile_job",), ("hostile", "--run"), ("hostile", "--files"), (HOSTILE,)), also_json=(
            ("hostile_job",), ("hostile_job/worker-0",), ("first", "--run"), ("first", "--files"),
            ("first", "--environment"), ("hostile_job", "--environment"))),
    "set": Row((THING, "--label", "+best", "--note", "said"), fresh=a_trial, says="labels best  with a note",
               also_json=(("--slots", "8"),)),
    "logs": Row(("first",), says="first line", shows=(("hostile",), ("hostile", "-f"), ("bad",), ("hostile_job",),
                                                  ("hostile", "--timestamps"), ("trainer",)),
                also_json=(("first", "--timestamps"), ("first", "--all_attempts"), ("trainer", "-n", "3"))),
    "watch": Row(("first",), says=r"loss 2.5", shows=(("hostile",),), in_silence_words=("--timeout", "5")),
    "plot": Row(("first", "-m", "loss"), says="loss", shows=(("hostile",), (HOSTILE,), ("hostile", "--x", "time", "--log")),
                also_json=(("first", "-m", "loss", "--smooth", "0.5", "--x", "relative"),)),
    "compare": Row(("first", "second"), says="loss", shows=(("hostile", "first", "--all"),)),
    "export": Row(("first",), says="run,tag,step"),
    # (It needs no yard, but the file.)
    "import": Row((THING,), takes_names=False, fresh=a_csv_file, says=r"1 values of 1 tags, 0 parameters",
                  shows=(("/nowhere/" + HOSTILE,),), without_yard=3, in_silence=(3,)),
    # (It needs no yard, but its state.)
    "backup": Row(("a-back-up",), takes_names=False, says=r"files, .*, copied to ",
                  shows=(("--restore", "/nowhere/" + HOSTILE),), without_yard=6, in_silence=(0,)),
    "pub": Row(("e/note/", '{"text": "hi"}'), says="e/note/ seq",
               shows=(("e/note/", "--type", HOSTILE, "1"), ("e/note/", '{"a": ' + HOSTILE)),
               also_json=(("e/again/", "--replay", "dumped", "--speed", "0"),)),
    "sub": Row(("e/hostile/", "--last", "-n", "1", "--timeout", "60"), takes_names=False, says="e/hostile/",
               shows=(("e/hostile/", "--last", "-n", "1", "--field", "payload.text"),
                      ("e/hostile/", "--since", "1h", "-n", "1"), ("t/", "l/", "m/", "--since", "1", "-n", "5"),
                      ("--filter", HOSTILE), ("l/", "--last", "-n", "1")),
               also_json=(("e/hostile/", "--last", "-n", "1", "--timestamps", "--timeout", "60"),
                          ("e/hostile/", "--last", "-n", "1", "--field", "payload.text", "--timeout", "60"),
                          ("e/hostile/", "--since", "1", "-n", "1", "--dump", "dumped-again", "--timeout", "60"))),
    "topic": Row(("ls",), says="e/hostile/", shows=(("ls", "e/"), ("hz", HOSTILE, "--timeout", "1")),
                 beside=("pub", "e/beside/", "{{count}}", "-n", "1000000", "--rate", "20"),
                 also_json=(("hz", "e/beside/", "-n", "2", "--timeout", "60"),
                            ("bw", "e/beside/", "-n", "1", "--timeout", "60"),
                            ("delay", "e/beside/", "-n", "1", "--timeout", "60"))),
    "call": Row(("registry", "List", "{}"), says="trainer",
                shows=(("trainer", "Trials", "{}", "--field", "trials[0].argv"),
                       ("trainer", "Trials", "{}"), ("launcher", "Jobs", "{}"), ("datamanager", "Runs", "{}"),
                       ("registry", "List", "{" + HOSTILE)),
                also_json=(("--list",), ("launcher", "--list"))),
    "completion": Row(("bash",), says="complete .*-F _yard yard", without_yard=0, in_silence=(0,)),
}
