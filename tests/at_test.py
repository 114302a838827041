"""`yard --at HOST`: the yard of another machine over a real ssh.

The other machine is an sshd of the test's own on a port of 127.0.0.1, whose sessions have the home and the yard of the
test case; this one has a home and a runtime directory of its own, and no yard.
"""

import contextlib
import fcntl
import http.client
import json
import os
import pathlib
import pty
import pwd
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
import unittest

from bazel.python import xml_runner
from tests import ssh_server, verb_rows, yard_case

HOSTILE = ["", "a b", "'", '"', "$(touch pwned)", "`touch pwned`", "\\", "\\'", "a\nb\n", "!!", "*", "~", "-n", "%41,",
           "\x1b[2J", "ü", "\udcff\udcfe", "&& touch pwned;", "=x", "{a,b}"]
GOES_ON = ("sh", "-c", "echo up; exec sleep 1000000")
REPORTS = ("sh", "-c", """while :; do echo '{"t":"report","m":{"loss":1}}' >&3; read -r ok <&3
                          case $ok in *'"stop"'*) exit;; esac; sleep .05; done""")


class AtCase(yard_case.YardCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(ssh_server.SSHD):
            what = "there is no %s: tools/setup installs it" % ssh_server.SSHD
            raise AssertionError(what) if os.environ.get("CI") else unittest.SkipTest(what)
        super().setUpClass()
        # Where tools/install puts it for one user; no PATH of ssh's has it.
        programs = pathlib.Path(cls.directory, ".local/bin")
        programs.mkdir(parents=True)
        (programs / "yard").symlink_to(cls.yard_program)
        pathlib.Path(cls.directory, ".profile").write_text("export FROM_PROFILE=yes\necho noise of a login\n")
        cls.sshd = cls.make_sshd("sshd")
        cls.here_is = cls.make_here("here", cls.sshd.client_config())

    def setUp(self):
        super().setUp()
        self.unread = {}

    @classmethod
    def make_sshd(cls, name, *lines, **variables):
        there = {**{name: cls.environment[name] for name in
                    ("HOME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR", "YARD_STATE", "RUNFILES_DIR", "TSAN_OPTIONS")},
                 **variables}
        sshd = ssh_server.Sshd(cls.directory + "/" + name, there, lines)
        cls.addClassCleanup(sshd.stop)
        return sshd

    @classmethod
    def make_here(cls, name, config, **variables):
        """The environment of this machine; `name`: a new one has no connection yet."""
        home = pathlib.Path(cls.directory, name)
        home.mkdir()
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": str(home),
                       "YARD_STATE": str(home / "state"), "RUNFILES_DIR": os.environ["TEST_SRCDIR"],
                       "YARD_SSH": "ssh -F %s" % config, **variables}

        def close():
            for path in (home / "yard/at").glob("*"):
                if path.is_socket():
                    subprocess.run(["ssh", "-F", str(config), "-S", str(path), "-O", "exit", "farm"],
                                   stderr=subprocess.DEVNULL, check=False)
        cls.addClassCleanup(close)
        return environment

    def start_at(self, *words, here=None, **streams):
        """`yard --at farm WORDS` runs on."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        environment = here or self.here_is
        process = subprocess.Popen([self.yard_program, "--at", "farm", *words], cwd=environment["HOME"], env=environment,
                                   start_new_session=True, **streams)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def at(self, *words, code=0, here=None, stdin=b""):
        """Its stdout and stderr, as text."""
        process = self.start_at(*words, here=here, stdin=subprocess.PIPE)
        out, err = process.communicate(stdin, timeout=yard_case.LONG)
        self.assertEqual(process.returncode, code, out + err)
        return out.decode(), err.decode()

    def served(self):
        """The process ids of yards that serve one on another machine."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
                environment = (path.parent / "environ").read_bytes()
            except OSError:
                continue
            if words[1:3] == [b"--over_ssh", b"run"] and ("HOME=%s\0" % self.directory).encode() in environment + b"\0":
                found.append(int(path.parent.name))
        return found

    def ssh_of(self, process):
        """The process id of the ssh that a `yard` has started."""
        children = pathlib.Path("/proc/%d/task/%d/children" % (process.pid, process.pid))
        self.await_true(lambda: children.read_text().split(), "yard starts no ssh")
        return int(children.read_text().split()[0])

    def await_line(self, stream, wanted):
        """Reads the stream, which nobody else reads, up to these words."""
        wanted = wanted.encode() if isinstance(wanted, str) else wanted
        said = self.unread.pop(stream, b"")
        deadline = time.monotonic() + yard_case.LONG
        while wanted not in said:
            if not select.select([stream], [], [], max(deadline - time.monotonic(), 0))[0]:
                self.fail("%r did not come after %r" % (wanted, said))
            more = os.read(stream.fileno(), 1 << 16)
            self.assertTrue(more, "%r did not come before the end: %r" % (wanted, said))
            said += more
        self.unread[stream] = said.partition(wanted)[2]

    def state(self, name):
        return json.loads(self.yard("show", name, "--json")[0])["state"]

    def in_shell(self, script, here=None):
        return subprocess.run(["bash", "-c", script], cwd=self.directory, stdin=subprocess.DEVNULL, capture_output=True,
                              env={**(here or self.here_is), "yard": self.yard_program}, text=True, check=False,
                              timeout=yard_case.LONG)


class VerbsTest(AtCase):
    """Every verb is as it is there."""

    def test_output_and_exit_code_are_those_of_there(self):
        self.start_yard("run", "--name", "same", "--", "sh", "-c", "echo out; echo err >&2; exit 3").wait()
        for words, code in ((("ps", "--all", "--json"), 0), (("logs", "same"), 0), (("show", "nothing"), 3), (("pss",), 2),
                            (("ps", "--nonsense"), 2), (("wait", "same"), 1), (("status", "--help"), 0), (("--version",), 0)):
            local = subprocess.run([self.yard_program, *words], cwd=self.directory, env=self.environment,
                                   stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            self.assertEqual(local.returncode, code, local.stderr)
            self.assertEqual(self.at(*words, code=code), (local.stdout, local.stderr))

    def test_the_variable_names_the_machine_too(self):
        self.assertEqual(self.in_shell('YARD_AT=farm "$yard" ps').returncode, 0)
        here = self.in_shell("YARD_AT=farm \"$yard\" --at '' ps")
        self.assertEqual((here.returncode, here.stderr), (4, "yard ps: the yard is not up; start it with: yard up\n"))
        refused = self.in_shell('"$yard" --at -oProxyCommand=x ps')
        self.assertEqual(refused.returncode, 2)
        self.assertIn('"-oProxyCommand=x" is no name of a host', refused.stderr)

    def test_words_of_any_bytes_arrive(self):
        self.at("run", "--name", "words", "--", "sh", "-c", 'printf "%s\\0" "$@" > "$HOME/words"', "sh", *HOSTILE)
        self.assertEqual(pathlib.Path(self.directory, "words").read_bytes(),
                         b"".join(os.fsencode(word) + b"\0" for word in HOSTILE))
        note = "it's $(touch pwned)\n\"`\\ !! ü"
        self.at("set", "words", "--note", note)
        self.assertEqual(json.loads(self.at("show", "words", "--json")[0])["note"], note)
        for folder in (self.directory, self.here_is["HOME"]):
            self.assertFalse(pathlib.Path(folder, "pwned").exists())

    def test_words_arrive_through_any_shell(self):
        for shell in ("fish", "zsh", "dash", "tcsh"):
            if not shutil.which(shell):
                continue
            with self.subTest(shell):
                sshd = self.make_sshd("d-" + shell, 'ForceCommand exec %s -c "$SSH_ORIGINAL_COMMAND"' % shell,
                                      SHELL=shutil.which(shell))
                here = self.make_here("h-" + shell, sshd.client_config())
                self.at("run", "--name", shell, "--", "sh", "-c", 'printf "%s\\0" "$@" > "$HOME"/' + shell, "sh", *HOSTILE, here=here)
                self.assertEqual(pathlib.Path(self.directory, shell).read_bytes(),
                                 b"".join(os.fsencode(word) + b"\0" for word in HOSTILE))
                self.at("set", shell, "--note", HOSTILE[4], here=here)

    def test_programs_get_the_environment_of_a_login_and_nothing_of_here(self):
        here = {**self.here_is, "TZ": "Asia/Tokyo", "NO_COLOR": "1", "YARD_TRACE": "of-here", "OF_HERE": "1"}
        self.at("run", "--name", "environment", "--", "sh", "-c", 'env > "$HOME/environment"', here=here)
        lines = pathlib.Path(self.directory, "environment").read_text().splitlines()
        self.assertIn("FROM_PROFILE=yes", lines)
        self.assertEqual([line for line in lines if line.startswith(("TZ=Asia", "NO_COLOR=", "YARD_TRACE=", "OF_HERE=", "YARD_AT_"))], [])
        # Times are those of the zone of who reads them.
        tokyo, utc = (self.at("show", "environment", here={**here, "TZ": zone})[0] for zone in ("Asia/Tokyo", "UTC"))
        self.assertNotEqual(tokyo, utc)

    def test_a_file_of_here_goes_through_stdin(self):
        job = pathlib.Path(self.here_is["HOME"], "job.yaml")
        job.write_text("name: from-here\ncommand: [sh, -c, 'exit 0']\n")
        _, err = self.at("launch", "job.yaml", code=3)
        self.assertIn("paths are those of farm; job.yaml is a file here: put - in its place and add < job.yaml", err)
        self.at("launch", "-", stdin=job.read_bytes())
        self.assertIn("from-here", self.yard("ps", "--all")[0])
        # A value of more than any pipe holds.
        text = json.dumps({"text": "x" * 500_000})
        self.at("pub", "e/large/", "-", stdin=text.encode())

    def test_a_loop_over_lines_keeps_its_stdin(self):
        loop = self.in_shell("printf 'one\\ntwo\\n' | while read -r line; do \"$yard\" --at farm ps > /dev/null; echo $line; done")
        self.assertEqual(loop.stdout, "one\ntwo\n", loop.stderr)

    def test_a_reader_that_leaves_ends_it_quietly(self):
        self.yard("run", "--name", "lines", "--", "sh", "-c", "seq 200000")
        ended = self.in_shell('set -o pipefail; "$yard" --at farm logs lines | head -n 1')
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (141, "[worker-0]:    1\n", ""))

    def test_the_yard_goes_down_and_up(self):
        self.at("down")
        self.at("status", code=4)
        self.at("up", "--logdir", self.directory + "/runs")
        self.at("ps")

    def test_completion_knows_what_is_there(self):
        home = pathlib.Path(self.here_is["HOME"])
        (home / ".ssh").mkdir(exist_ok=True)
        (home / ".ssh/config").write_text("Host farm other\n")
        self.yard("run", "--name", "complete-me", "--", "true")
        self.at("ps")

        def complete(*words, **variables):
            return subprocess.run([self.yard_program, "completion", "complete", "--", *words], stdin=subprocess.DEVNULL,
                                  env={**self.here_is, **variables}, capture_output=True, text=True, check=False,
                                  timeout=yard_case.LONG).stdout.split("\n")[0].split("\t")[0]
        self.assertEqual(complete("--a"), "--at")
        self.assertEqual(complete("--at", "fa"), "farm")
        self.assertEqual(complete("--at=fa"), "--at=farm")
        self.assertEqual(complete("--at", "farm", "wat"), "watch")
        # (Names that come too late for a key do not come.)
        self.await_true(lambda: complete("--at", "farm", "show", "complete-") == "complete-me", "no name comes")
        self.await_true(lambda: complete("show", "complete-", YARD_AT="farm") == "complete-me", "no name comes")
        # Nothing is opened at a key.
        self.assertEqual(complete("--at", "other", "show", "complete-"), "")
        self.assertEqual(complete("--at", "other", "wat"), "watch")


class InterruptTest(AtCase):
    """Ctrl-C, terminals, and kills of what is between here and there."""

    def test_an_interrupt_reaches_the_verb(self):
        for name, send in (("by-group", lambda process: os.killpg(process.pid, signal.SIGINT)),
                           ("by-term", lambda process: process.terminate())):
            with self.subTest(name):
                process = self.start_at("run", "--name", name, "--", *GOES_ON)
                self.await_line(process.stdout, b"up")
                send(process)
                _, err = process.communicate(timeout=yard_case.LONG)
                local = self.start_yard("run", "--name", name + "-local", "--", *GOES_ON)
                self.await_line(local.stdout, "up")
                local.send_signal(signal.SIGINT)
                local.communicate(timeout=yard_case.LONG)
                self.assertEqual(process.returncode, local.returncode, err)
                self.assertEqual(self.state(name), self.state(name + "-local"))

    def test_a_terminal_has_keys_and_a_size(self):
        self.yard("run", "--name", "shown-" + 100 * "x", "--", "true")
        screen = Terminal(self, "ps", "--all")
        self.assertEqual(screen.finish(), 0)
        self.assertLessEqual(max(map(len, screen.text.splitlines())), 80)
        self.yard("run", "--name", "shown", "--detach", "--", *GOES_ON)
        self.addCleanup(self.yard, "stop", "shown")
        top = Terminal(self, "top")
        top.await_text("shown")
        top.type_in("q")
        self.assertEqual(top.finish(), 0)
        self.assertNotIn("Shared connection", top.text)
        watch = Terminal(self, "run", "--name", "typed", "--", *GOES_ON)
        watch.await_text("up")
        watch.type_in("\x03")
        self.assertEqual(watch.finish(), self.interrupted_code())

    def interrupted_code(self):
        local = self.start_yard("run", "--name", "interrupted", "--", *GOES_ON)
        self.await_line(local.stdout, "up")
        local.send_signal(signal.SIGINT)
        local.communicate(timeout=yard_case.LONG)
        return local.returncode

    def test_nothing_stays_there_when_ssh_or_the_yard_here_is_killed(self):
        self.yard("run", "--name", "reports", "--detach", "--", *REPORTS)
        self.addCleanup(self.yard, "stop", "reports")
        for victim in ("ssh", "yard"):
            with self.subTest(victim):
                process = self.start_at("watch", "reports")
                self.await_line(process.stdout, b"loss")
                ssh = self.ssh_of(process)
                self.assertEqual(len(self.served()), 1)
                os.kill(ssh if victim == "ssh" else process.pid, signal.SIGKILL)
                _, err = process.communicate(timeout=yard_case.LONG)
                self.await_true(lambda: not self.served(), "a yard still serves")
                if victim == "ssh":
                    self.assertEqual(process.returncode, 255)
                    self.assertIn(b"the command may have been done or not; next: yard --at farm status", err)

    def test_a_verb_that_prints_nothing_ends_with_its_caller_too(self):
        process = self.start_at("sub", "e/never/")
        self.await_true(self.served, "no yard serves")
        process.kill()
        self.await_true(lambda: not self.served(), "a yard still serves")

    def test_a_change_goes_on_to_its_end_without_its_caller(self):
        self.yard("run", "--name", "stopped", "--detach", "--", "sh", "-c",
                  """trap 'echo asked; while ! [ -e "$HOME/let-go" ]; do sleep .05; done; exit' TERM
                     echo up; while :; do sleep .05; done""")
        self.await_true(lambda: "up" in self.yard("logs", "stopped")[0], "it does not run")
        process = self.start_at("stop", "stopped", "--grace", "100")
        self.await_true(lambda: "asked" in self.yard("logs", "stopped")[0], "it is not asked to stop")
        served = self.served()
        process.kill()
        process.wait()
        # The server has closed the session of the first command before it opens that of the second.
        self.at("ps")
        self.assertEqual(self.served(), served)
        pathlib.Path(self.directory, "let-go").touch()
        self.await_true(lambda: not self.served(), "a yard still serves")
        self.yard("wait", "stopped")
        self.assertEqual(self.state("stopped"), "stopped")

    def test_the_third_interrupt_ends_it_here(self):
        self.yard("run", "--name", "endless", "--detach", "--", *REPORTS)
        self.addCleanup(self.yard, "stop", "endless")
        process = self.start_at("watch", "endless")
        self.await_line(process.stdout, b"loss")
        served, = self.served()
        yard_case.stop_process(served)
        self.addCleanup(kill, served)
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            # (Signals of a kind that wait are one.)
            self.await_true(lambda: not has_pending(process.pid), "it takes no signal")
        # (The connection keeps the streams until that yard ends.)
        self.assertEqual(process.wait(timeout=yard_case.LONG), 130)


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def has_pending(pid):
    try:
        status = pathlib.Path("/proc/%d/status" % pid).read_text()
    except OSError:
        return False
    return any(int(re.search(name + r":\s*(\S+)", status).group(1), 16) & (1 << signal.SIGINT - 1) for name in ("ShdPnd", "SigPnd"))


class Terminal:
    """`yard --at farm WORDS` in a terminal of 80 columns."""

    def __init__(self, test, *words):
        self.test = test
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {**test.here_is, "TERM": "xterm-256color"}

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self.process = subprocess.Popen([test.yard_program, "--at", "farm", *words], stdin=slave, stdout=slave, stderr=slave,
                                        cwd=environment["HOME"], env=environment, preexec_fn=own_terminal)
        os.close(slave)
        test.addCleanup(os.close, self.master)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)
        self.text, self.deadline = "", time.monotonic() + yard_case.LONG

    def type_in(self, keys):
        os.write(self.master, keys.encode())

    def _read(self):
        left = self.deadline - time.monotonic()
        if left <= 0 or not select.select([self.master], [], [], left)[0]:
            self.test.fail("nothing more comes; the screen: %r" % self.text[-2000:])
        try:
            self.text += os.read(self.master, 65536).decode("utf-8", "replace")
        except OSError:
            return False
        return True

    def await_text(self, wanted):
        while wanted not in self.text:
            if not self._read():
                self.test.fail("%r did not come; the screen: %r" % (wanted, self.text[-2000:]))

    def finish(self):
        while self._read():
            pass
        return self.process.wait(timeout=yard_case.LONG)


class ConnectionTest(AtCase):
    """One connection is kept; without one the error says why."""

    def fails(self, words, here=None, code=255):
        """The stderr of a command that finds no yard."""
        ended = self.in_shell('"$yard" %s' % words, here)
        self.assertEqual((ended.returncode, ended.stdout), (code, ""), ended.stderr)
        return ended.stderr

    def test_one_connection_serves_all_commands(self):
        here = self.make_here("one", self.sshd.client_config())
        before = self.sshd.accepted()
        # Also those that begin at the same time.
        for process in [self.start_at("ps", here=here) for _ in range(4)]:
            out, err = process.communicate(timeout=yard_case.LONG)
            self.assertEqual(process.returncode, 0, err)
        self.at("status", here=here)
        self.assertEqual(self.sshd.accepted(), before + 1)
        sockets = [path for path in pathlib.Path(here["HOME"], "yard/at").iterdir() if path.is_socket()]
        self.assertEqual([oct(path.stat().st_mode & 0o777) for path in sockets], ["0o600"])
        self.assertEqual(pathlib.Path(here["HOME"], "yard/at").stat().st_mode & 0o777, 0o700)

    def test_a_connection_that_nobody_uses_ends(self):
        here = self.make_here("ends", self.sshd.client_config())
        here["YARD_SSH"] += " -o ControlPersist=1"
        self.at("ps", here=here)
        at = pathlib.Path(here["HOME"], "yard/at")
        self.await_true(lambda: not any(path.is_socket() for path in at.iterdir()), "the connection stays")
        self.at("ps", here=here)

    def test_a_connection_that_has_died_is_made_again(self):
        here = self.make_here("dies", self.sshd.client_config())
        self.yard("run", "--name", "long", "--detach", "--", *REPORTS)
        self.addCleanup(self.yard, "stop", "long")
        process = self.start_at("watch", "long", here=here)
        self.await_line(process.stdout, b"loss")
        os.kill(self.master_of(here), signal.SIGKILL)
        _, err = process.communicate(timeout=yard_case.LONG)
        self.assertEqual(process.returncode, 255)
        self.assertIn(b"yard: the connection to farm broke; the command may have been done or not", err)
        self.at("ps", here=here)
        # After a pause a connection that hangs is found out; the time of the file tells how long the pause was.
        master = self.master_of(here)
        os.kill(master, signal.SIGSTOP)
        self.addCleanup(kill, master)
        for path in pathlib.Path(here["HOME"], "yard/at").glob("*.greeting"):
            os.utime(path, (1, 1))
        self.at("ps", here=here)
        self.assertNotEqual(self.master_of(here), master)

    def master_of(self, here):
        socket_path, = (path for path in pathlib.Path(here["HOME"], "yard/at").iterdir() if path.is_socket())
        said = subprocess.run(["ssh", "-S", str(socket_path), "-O", "check", "farm"], capture_output=True, text=True, check=True)
        return int(re.search(r"pid=(\d+)", said.stderr + said.stdout).group(1))

    def test_ssh_says_itself_why_it_cannot_connect(self):
        refused = self.make_here("refused", self.sshd.client_config())
        refused["YARD_SSH"] += " -o Port=%d" % ssh_server.free_port()
        err = self.fails("--at farm ps", refused)
        self.assertIn("Connection refused", err)
        self.assertRegex(err, r"\nyard: cannot reach farm by ssh, which says why above; next: ssh .* farm true\n$")
        unknown = self.make_here("unknown", self.sshd.client_config())
        unknown["YARD_SSH"] += " -o StrictHostKeyChecking=yes -o UserKnownHostsFile=/dev/null"
        self.assertIn("Host key verification failed", self.fails("--at farm ps", unknown))
        nobody = self.make_here("nobody", self.sshd.client_config())
        nobody["YARD_SSH"] += " -o IdentityFile=/dev/null -o PubkeyAuthentication=no"
        self.assertIn("Permission denied", self.fails("--at farm ps", nobody))
        none = {**self.make_here("none", self.sshd.client_config()), "YARD_SSH": "/no/ssh"}
        self.assertIn("next: install ssh", self.fails("--at farm ps", none))

    def test_no_yard_there(self):
        sshd = self.make_sshd("bare", HOME="/nonexistent")
        here = self.make_here("bare-here", sshd.client_config())
        if not shutil.which("yard"):
            self.assertEqual(self.fails("--at farm ps", here).splitlines()[-1],
                             "yard: no yard on farm: it is neither on the PATH of a login shell nor in ~/.local/bin; next: install "
                             "it there, or say where it is: --at farm:/path/to/yard")
        self.assertIn("yard: no yard on farm: /no/yard is no program there;", self.fails("--at farm:/no/yard ps", here))
        # The way out.
        there = self.in_shell('"$yard" --at farm:%s/.local/bin/yard ps' % self.directory, here)
        self.assertEqual(there.returncode, 0, there.stderr)

    def test_a_yard_of_another_version(self):
        def program(name, text):
            path = pathlib.Path(self.directory, name)
            path.write_text("#!/bin/sh\n" + text)
            path.chmod(0o755)
            return path
        old = program("old", 'case $1 in --version) echo yard 0.0;; *) echo "yard: no flag $1" >&2; exit 2;; esac\n')
        self.assertIn('the yard on farm does not know --at (it says "%s: yard 0.0", this one is yard ' % old,
                      self.fails("--at farm:%s ps" % old))
        new = program("new", "echo yard-at 7 x,y,\n")
        self.assertIn("the yard on farm speaks version 7 of --at, and this one (yard ", self.fails("--at farm:%s ps" % new))
        other = self.make_sshd("git", "ForceCommand echo only git here; false")
        here = self.make_here("git-here", other.client_config())
        self.assertIn('farm does not run commands as a shell does (exit code 1, it says "only git here")',
                      self.fails("--at farm ps", here))

    def test_a_wrapper_chooses_among_several_yards(self):
        wrapper = pathlib.Path(self.directory, "other-yard")
        wrapper.write_text('#!/bin/sh\nYARD_STATE=%s/other XDG_RUNTIME_DIR=%s/o exec %s "$@"\n' %
                           (self.directory, self.directory, self.yard_program))
        wrapper.chmod(0o755)
        ended = self.in_shell('"$yard" --at farm:%s ps' % wrapper)
        self.assertEqual((ended.returncode, ended.stderr), (4, "yard ps: the yard is not up; start it with: yard up\n"))

    def test_words_that_are_too_long_are_refused(self):
        err = self.fails("--at farm set x --note $(head -c 100000 /dev/zero | tr '\\0' '$')", code=2)
        self.assertIn("too long for ssh", err)

    def test_a_shell_that_talks_is_told_of(self):
        if not pwd.getpwuid(os.getuid()).pw_shell.endswith("bash"):
            self.skipTest("the account's shell reads no file for a command")
        talks = pathlib.Path(self.directory, "talks")
        talks.mkdir()
        (talks / ".bashrc").write_text("echo Welcome\n")
        sshd = self.make_sshd("talks-d", HOME=str(talks))
        here = self.make_here("talks-here", sshd.client_config())
        ended = self.in_shell('"$yard" --at farm:%s ps' % self.yard_program, here)
        self.assertIn('yard: the shell on farm prints "Welcome" before each command', ended.stderr)


class PageTest(AtCase):
    """The page of there, in a browser here."""

    @staticmethod
    def ask(address, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(address, timeout=yard_case.LONG)
        connection.request(method, path, body, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, json.loads(body or b"null")

    def test_the_page_is_here(self):
        process = self.start_at("ui", "--json")
        address = json.loads(process.stdout.readline())["address"]
        place, key = re.fullmatch(r"http://(127\.0\.0\.1:\d+)/#k=(.*)", address).groups()
        self.assertNotEqual(address, json.loads(self.yard("ui", "--json")[0])["address"])
        self.assertEqual(self.ask(place, "GET", "/api/v1/yard")[0], 401)
        status, session = self.ask(place, "POST", "/api/v1/session", json.dumps({"k": key}))
        self.assertEqual(status, 200, session)
        bearer = {"Authorization": "Bearer " + session["token"]}
        self.assertEqual(self.ask(place, "GET", "/api/v1/yard", **bearer)[0], 200)
        # The cable breaks: the same port leads there again.
        at = pathlib.Path(self.here_is["HOME"], "yard/at")
        control, = (path for path in at.iterdir() if path.is_socket())
        said = subprocess.run(["ssh", "-S", str(control), "-O", "check", "farm"], capture_output=True, text=True, check=True)
        os.kill(int(re.search(r"pid=(\d+)", said.stderr + said.stdout).group(1)), signal.SIGKILL)
        self.await_line(process.stderr, b"broke; connecting again")
        self.await_line(process.stderr, b"connected again")
        self.assertEqual(self.ask(place, "GET", "/api/v1/yard", **bearer)[0], 200)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=yard_case.LONG)
        self.assertEqual(process.returncode, 130)
        with self.assertRaises(OSError):
            self.ask(place, "GET", "/healthz")
        self.await_true(lambda: not self.served(), "a session is held")

    def test_a_connection_that_breaks_before_it_is_held_is_made_again(self):
        ssh = pathlib.Path(self.directory, "cut-ssh")
        cut = pathlib.Path(self.directory, "cut")
        # (Its first words are -F CONFIG -S SOCKET.)
        ssh.write_text("#!/bin/sh\ncase $* in *'--over_ssh hold') [ -e %s ] || { touch %s; ssh \"$1\" \"$2\" \"$3\" \"$4\" -O exit farm 2>/dev/null; };; esac\n"
                       "exec ssh \"$@\"\n" % (cut, cut))
        ssh.chmod(0o755)
        here = self.make_here("cut-here", self.sshd.client_config())
        here["YARD_SSH"] = str(ssh) + here["YARD_SSH"].removeprefix("ssh")
        process = self.start_at("ui", "--json", here=here)
        place = re.search(r"127\.0\.0\.1:\d+", json.loads(process.stdout.readline())["address"]).group()
        self.await_line(process.stderr, b"broke; connecting again")
        self.await_line(process.stderr, b"connected again")
        self.assertTrue(cut.exists())
        self.assertEqual(self.ask(place, "GET", "/api/v1/yard")[0], 401)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=yard_case.LONG), 130)

    def test_a_tensorboard_of_there_is_here(self):
        program = pathlib.Path(self.directory, "tensorboard")
        program.write_text(verb_rows.TENSORBOARD)
        program.chmod(0o755)
        profile = pathlib.Path(self.directory, ".profile")
        profile.write_text("%s\nexport TENSORBOARD_BINARY=%s\n" % (profile.read_text(), program))
        process = self.start_at("tensorboard", "--json")
        place = re.fullmatch(r"http://(127\.0\.0\.1:\d+)/.*", json.loads(process.stdout.readline())["address"]).group(1)
        connection = http.client.HTTPConnection(place, timeout=yard_case.LONG)
        self.addCleanup(connection.close)
        connection.request("GET", "/")
        self.assertEqual(connection.getresponse().status, 200)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=yard_case.LONG), 130)

    def test_a_server_that_forwards_nothing_is_told_of(self):
        sshd = self.make_sshd("shut", "AllowTcpForwarding no")
        _, err = self.at("ui", code=255, here=self.make_here("shut-here", sshd.client_config()))
        self.assertIn("yard ui: nothing answers through ssh at 127.0.0.1:", err)

    def test_errors_are_those_of_there(self):
        _, err = self.at("ui", "no-such-run", code=3)
        self.assertIn("no-such-run", err)


if __name__ == "__main__":
    xml_runner.main()
