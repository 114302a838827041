"""Jobs that a file keeps: `yard apply`, their order, what comes back with the yard, and probes; trials that wait."""

import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

from bazel.python import xml_runner
from tests import yard_case

GOES_ON = "command: [sleep, '1000000']\n"


class FleetTest(yard_case.YardCase):
    up_words = ("--resources", "gpu=0,1", "--slots", "4")

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fleet-", dir=self.directory))
        self.addCleanup(self.stop_all)

    def stop_all(self):
        for line in self.yard("ps", "--json")[0].splitlines():
            thing = json.loads(line)
            self.run_yard("stop", thing["id"], "--grace", "0.1")

    def run_yard(self, *words):
        tool = subprocess.run([self.yard_program, *words], cwd=self.directory, env=self.environment,
                              capture_output=True, stdin=subprocess.DEVNULL, text=True, timeout=yard_case.LONG,
                              check=False)
        return tool.returncode, tool.stdout, tool.stderr

    def write(self, *jobs, name="fleet.yaml"):
        path = self.folder / name
        path.write_text("---\n".join(jobs))
        return str(path)

    def apply(self, *words):
        """{job: (what was done, why)}"""
        rows = [json.loads(line) for line in self.yard("apply", *words, "--json")[0].splitlines()]
        return {row["job"]: (row["action"], row["why"]) for row in rows}

    def job(self, name):
        """As `yard show` has it; the state of a job that somebody has stopped is "stopped"."""
        job = json.loads(self.yard("show", name, "--json")[0])
        if job["kind"] == "job" and job["state"] == "done" and job["stop_requested"]:
            job["state"] = "stopped"
        return job

    def await_state(self, name, state):
        self.await_true(lambda: self.job(name)["state"] == state,
                        lambda: "%s is not %s: %s" % (name, state, self.job(name)))

    def await_reason(self, name, words):
        self.await_true(lambda: words in self.job(name)["reason"],
                        lambda: "%s does not say %s: %s" % (name, words, self.job(name)["reason"]))

    def test_ten_jobs_are_kept_and_only_what_changed_starts_again(self):
        jobs = ["name: p%d\ncommand: [sh, -c, 'echo $CUDA_VISIBLE_DEVICES; exec sleep 1000000']\nstop_grace: 100ms\n%s"
                % (i, "resources: {gpu: 1}\n" if i < 2 else "") for i in range(10)]
        path = self.write(*jobs)
        plan = self.apply(path, "--dry_run")
        self.assertEqual(set(plan.values()), {("start", "is new")})
        self.assertEqual(self.run_yard("show", "p0")[0], 3)
        self.assertEqual(set(self.apply(path).values()), {("start", "is new")})
        for i in range(10):
            self.await_state("p%d" % i, "running")
        gpus = [self.job("p%d" % i)["tasks"][0]["resources"] for i in range(3)]
        self.assertEqual(sorted(map(str, gpus)), ["['gpu=0']", "['gpu=1']", "[]"])
        ids = {i: self.job("p%d" % i)["id"] for i in range(10)}
        self.assertEqual(set(self.apply(path).values()), {("keep", "is unchanged")})
        # One changes, one goes, one is new; a comment is no change. And nothing is forgotten by a restart of everything.
        self.yard("down", "--keep")
        self.yard("up")
        jobs[4] += "# the fifth\nrestart: always\n"
        jobs[5] = "# the sixth\n" + jobs[5]
        path = self.write(*jobs[:9], "name: more\n" + GOES_ON)
        plan = self.apply(path)
        self.assertEqual(plan["p4"], ("restart", "changed: restart"))
        self.assertEqual(plan["p9"], ("leave", "is in the file no more"))
        self.assertEqual(plan["more"], ("start", "is new"))
        self.assertEqual({plan["p%d" % i] for i in (0, 1, 2, 3, 5, 6, 7, 8)}, {("keep", "is unchanged")})
        self.assertNotEqual(self.job("p4")["id"], ids[4])
        self.assertEqual([self.job("p%d" % i)["id"] for i in (0, 5, 9)], [ids[0], ids[5], ids[9]])
        self.assertEqual(self.apply(path, "--prune")["p9"], ("stop", "is in the file no more"))
        self.assertEqual(self.job("p9")["state"], "stopped")

    def test_jobs_of_somebody_else_are_not_touched(self):
        self.yard("launch", "--name", "mine", "--detach", "--", "sleep", "1000000")
        code, out, err = self.run_yard("apply", self.write("name: fresh\n" + GOES_ON, "name: mine\n" + GOES_ON))
        self.assertEqual((code, out), (6, ""), err)
        self.assertIn("no file keeps it", err)
        self.assertEqual(self.run_yard("show", "fresh")[0], 3)
        code, _, err = self.run_yard("apply", self.write("name: a\n" + GOES_ON + "max_restarts: x\n"))
        self.assertEqual(code, 2)
        self.assertIn("fleet.yaml:3:15: max_restarts: expected a whole number", err)

    def test_a_job_starts_after_others_and_fails_with_them(self):
        gate, answer = self.folder / "gate", self.folder / "answer"
        wait = "command: [sh, -c, 'while ! [ -e %s ]; do sleep 0.05; done; exit $(cat %s)']\n" % (gate, gate)
        path = self.write("name: last\nafter: {server: ready, data: completed}\ncommand: [touch, %s]\n" % answer,
                          "name: server\ncommand: [sh, -c, 'echo serving; exec sleep 1000000']\nready_pattern: serving\n"
                          "after: {data: completed}\nstop_grace: 100ms\n", "name: data\n" + wait)
        self.assertEqual(list(self.apply(path)), ["data", "server", "last"])
        self.await_state("data", "running")
        self.await_reason("server", "waits for job data to complete")
        self.assertEqual(self.job("last")["state"], "pending")
        self.assertFalse(answer.exists())
        # A launcher that is killed has them wait on.
        self.kill("launcher")
        self.await_reason("server", "waits for job data to complete")
        gate.write_text("0")
        self.await_state("last", "done")
        self.assertTrue(answer.exists())
        self.assertEqual(self.job("server")["state"], "running")
        # A job that waits for one that fails, fails.
        gate.write_text("7")
        path = self.write("name: bad\ncommand: [sh, -c, 'exit 7']\n",
                          "name: vain\nafter: {bad: completed}\nrestart: always\n" + GOES_ON, name="other.yaml")
        self.apply(path)
        self.await_state("vain", "failed")
        self.assertEqual(self.job("vain")["reason"],
                         "waited for job bad to complete, and it has failed: exit code 7")
        self.assertEqual(self.job("vain")["tasks"][0]["attempts"], [])
        code, _, err = self.run_yard("launch", "--after", "nothing=ready", "--", "true")
        self.assertEqual(code, 3)
        self.assertIn("after: there is no job nothing", err)

    def kill(self, service):
        os.kill(json.loads(self.yard("call", service, "Stats")[0])["pid"], signal.SIGKILL)

    def test_jobs_come_back_with_the_yard_but_not_after_a_stop(self):
        path = self.write(*("name: %s\nautostart: %s\nrestart: %s\nstop_grace: 100ms\n%s"
                            % (name, auto, restart, GOES_ON)
                            for name, auto, restart in (("server", "true", "never"), ("worker", "true", "always"),
                                                        ("stopped", "true", "always"), ("plain", "false", "always"))),
                          "name: follower\nautostart: true\nafter: {server: started}\n" + GOES_ON,
                          "name: once\nautostart: true\ncommand: ['true']\n")
        self.apply(path)
        for name in ("server", "worker", "stopped", "plain", "follower"):
            self.await_state(name, "running")
        self.await_state("once", "done")
        self.yard("stop", "stopped")
        self.await_state("stopped", "stopped")
        ids = {name: self.job(name)["id"] for name in ("server", "worker", "follower")}
        self.yard("down")
        self.yard("up")
        for name, id_ in ids.items():
            self.await_state(name, "running")
            self.assertEqual(self.job(name)["id"], id_)
            self.assertEqual(self.job(name)["restarts"], 0)
        self.assertEqual([self.job(name)["state"] for name in ("stopped", "plain", "once")],
                         ["stopped", "stopped", "done"])
        # As a machine that is switched off: everything is gone at once, the shims before the launcher looks.
        self.switch_off()
        self.yard("up")
        for name, id_ in ids.items():
            self.await_state(name, "running")
            self.assertEqual((self.job(name)["id"], self.job(name)["restarts"]), (id_, 0))
        self.assertEqual(self.job("stopped")["state"], "stopped")
        # The file has not changed, whatever has happened: what was stopped starts, the rest stays.
        plan = self.apply(path)
        self.assertEqual([plan[name][0] for name in ("server", "worker", "stopped", "plain", "follower", "once")],
                         ["keep", "keep", "start", "start", "keep", "keep"])

    def switch_off(self):
        """Kills all processes of this yard, those first that would see the end of the others."""
        mark = ("YARD_STATE=%s\0" % self.environment["YARD_STATE"]).encode()
        for only in ({"launcher"}, {"launcher", "yard-shim", "trainer"}, None, None):
            for entry in pathlib.Path("/proc").iterdir():
                if not entry.name.isdigit() or int(entry.name) == os.getpid():
                    continue
                try:
                    if only and (entry / "comm").read_text().strip() not in only:
                        continue
                    if mark in (entry / "environ").read_bytes() + b"\0":
                        os.kill(int(entry.name), signal.SIGKILL)
                except (FileNotFoundError, ProcessLookupError, PermissionError):
                    pass
        shutil.rmtree(self.environment["XDG_RUNTIME_DIR"], ignore_errors=True)

    def test_a_task_that_fails_its_probe_is_ended_and_restarted(self):
        alive = self.folder / "alive"
        alive.touch()
        (self.folder / "program").write_text("trap 'exit 0' TERM\necho began\nsleep 1000000 &\nwait\n")
        path = self.write("name: probed\ncommand: [sh, program]\nrestart: on-failure\nmax_restarts: 1\n"
                          "liveness: {command: [test, -e, alive], period: 100ms, failures: 2, timeout: 10s}\n")
        self.apply(path)
        self.await_state("probed", "running")
        alive.unlink()
        self.await_true(lambda: self.job("probed")["restarts"] == 1, lambda: self.job("probed"))
        self.await_state("probed", "failed")
        job = self.job("probed")
        said = "its liveness probe (command test -e alive) has failed 2 times in a row: exit code 1"
        self.assertEqual(job["reason"], said + " (gave up after 1 restart)")
        self.assertEqual([attempt["was_stopped"] for attempt in job["tasks"][0]["attempts"]], [False, False])
        self.assertTrue(job["tasks"][0]["attempts"][0]["reason"].startswith(said), job)
        self.assertIn(said, job["failure"]["reason"])

    def test_probes_of_all_kinds_see_a_process_that_hangs(self):
        server = http.server.HTTPServer(("127.0.0.1", 0), _Good)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        dead = socket.socket()
        dead.bind(("127.0.0.1", 0))  # It does not listen.
        self.addCleanup(dead.close)
        rules = "period: 100ms, failures: 3, timeout: 10s"
        beat = "command: [sh, -c, 'while :; do touch \"$YARD_HEARTBEAT\"; sleep 0.02; done']\n"
        path = self.write(
            "name: http\n%sliveness: {http: 'http://127.0.0.1:%d/health', %s}\n" % (GOES_ON, server.server_port, rules),
            "name: nopage\n%sliveness: {http: 'http://127.0.0.1:%d/none', %s}\n" % (GOES_ON, server.server_port, rules),
            "name: tcp\n%sliveness: {tcp: %d, %s}\n" % (GOES_ON, server.server_port, rules),
            "name: closed\n%sliveness: {tcp: %d, %s}\n" % (GOES_ON, dead.getsockname()[1], rules),
            "name: beats\n%sliveness: {heartbeat: true, %s}\n" % (beat, rules.replace("100ms", "500ms")),
            "name: hangs\n%sliveness: {heartbeat: true, %s}\n" % (GOES_ON, rules))
        self.apply(path)
        for name, why in (("nopage", "status 404"), ("closed", "Connection refused"),
                          ("hangs", "(heartbeat) has failed 3 times in a row: no heartbeat since the last look")):
            self.await_state(name, "failed")
            self.assertIn(why, self.job(name)["reason"])
        for name in ("http", "tcp", "beats"):
            self.assertEqual(self.job(name)["state"], "running", self.job(name))

    def test_a_trial_waits_for_others(self):
        gate = self.folder / "gate"
        waits = ("sh", "-c", "while ! [ -e %s ]; do sleep 0.05; done" % gate)
        self.yard("run", "--name", "base", "--detach", "--", *waits)
        self.yard("run", "--name", "then", "--detach", "--after", "base", "--", "true")
        self.yard("run", "--name", "start", "--detach", "--after", "base:start", "--", "true")
        self.await_state("start", "done")
        self.await_reason("then", "waits for trial base (")
        self.assertEqual(self.job("then")["state"], "pending")
        self.kill("trainer")
        self.await_reason("then", "waits for trial base (")
        gate.touch()
        self.await_state("then", "done")
        self.run_yard("run", "--name", "bad", "--", "false")
        self.run_yard("run", "--name", "vain", "--after", "bad", "--", "true")
        self.assertEqual(self.job("vain")["state"], "failed")
        self.assertRegex(self.job("vain")["reason"],
                         r"^waited for trial bad \(t-[a-z]{5}\) to be done, and it has failed: ")
        self.yard("run", "--name", "end", "--after", "bad:end", "--", "true")
        code, _, err = self.run_yard("run", "--after", "nobody", "--", "true")
        self.assertEqual(code, 3, err)


class _Good(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    xml_runner.main()
