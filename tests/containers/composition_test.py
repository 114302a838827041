"""docker-compose.yml for real: the services in containers of their own, each of them killed while a trial runs.

    python3 -m tests.containers.composition_test

Needs Debian's docker.io, docker-compose and debootstrap (tools/setup --containers), and root, if no engine runs. The
image is built of the checkout as it is, with what tools/install has left in Bazel's disk cache.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import tempfile
import time
import unittest

from tests.containers import cache_server, docker_engine

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
SERVICES = ("registry", "launcher", "datamanager", "trainer", "web")
DEADLINE = 120  # Seconds.
BUILD_DEADLINE = 1800
# Counts on and says what was acknowledged, until it is told to stop. A step takes it a moment.
COUNTS = """#!/bin/sh
i=0
while :; do
  i=$((i + 1))
  printf '{"t":"report","m":{"count":%s,"of":%s}}\\n' $i $YARD_ATTEMPT >&3
  read -r reply <&3 || exit 1
  case $reply in
    *'"ok"'*) echo acknowledged $YARD_ATTEMPT $i ;;
    *'"stop"'*) exit 0 ;;
  esac
  sleep 0.02
done
"""
# Kills each process whose program is $0.
KILL = 'for p in /proc/[0-9]*; do [ "$(cat $p/comm)" != "$0" ] || kill -9 "${p#/proc/}"; done'


class CompositionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = cls.enterClassContext(docker_engine.DockerEngine())
        cls.directory = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="yard-", dir="/tmp"))
        cls.project = pathlib.Path(cls.directory).name.lower().replace("_", "")
        work = pathlib.Path(cls.directory, "work")
        shutil.copytree(CHECKOUT / "examples/digits", work)
        os.chmod(cls.directory, 0o755)
        own = cls.project + "-own"
        cls.variables = {"YARD_WORK": str(work), "COMPOSE_PROJECT_NAME": cls.project,
                         "TRAINYARD_IMAGE": own, "YARD_RUNS": "runs"}
        cls.addClassCleanup(cls.engine.attempt, "docker", "rmi", cls.project)
        with cache_server.CacheServer() as cls.cache:
            cls.engine.run("build", "--network", "host", "--tag", cls.project, "--build-arg",
                           "REMOTE_CACHE=" + cls.cache.url, str(CHECKOUT), timeout=BUILD_DEADLINE)
        cls.addClassCleanup(cls.engine.attempt, "docker", "rmi", own)
        cls.engine.run("build", "--tag", own, cls.own_image(), timeout=BUILD_DEADLINE)
        cls.addClassCleanup(cls.compose, "down", "--volumes", "--timeout", "5")
        cls.up()

    @classmethod
    def own_image(cls):
        """The folder of an image that a user has made FROM the yard's, with a program in it."""
        folder = pathlib.Path(cls.directory, "own")
        folder.mkdir()
        (folder / "counts").write_text(COUNTS, encoding="utf-8")
        (folder / "counts").chmod(0o755)
        (folder / "Dockerfile").write_text("FROM %s\nCOPY counts /usr/local/bin/\n" % cls.project, encoding="utf-8")
        return str(folder)

    @classmethod
    def compose(cls, *words, exit_code=0):
        answer = cls.engine.attempt("docker-compose", "--file", str(CHECKOUT / "docker-compose.yml"), *words,
                                    environment=cls.variables)
        if answer.returncode != exit_code:
            raise AssertionError("docker-compose %s ended with %d: %s" % (words, answer.returncode, answer.stdout))
        return answer.stdout

    @classmethod
    def up(cls):
        cls.compose("up", "--detach", "--no-build")
        cls.await_true(lambda: cls.yard_ends_with(0, "status", "--check"), "the services are not up")

    @classmethod
    def yard_ends_with(cls, exit_code, *words):
        return cls.engine.attempt("docker-compose", "--file", str(CHECKOUT / "docker-compose.yml"), "run", "--rm", "-T",
                                  "yard", *words, environment=cls.variables).returncode == exit_code

    @classmethod
    def yard(cls, *words):
        """All that a command prints that succeeds."""
        return cls.compose("run", "--rm", "-T", "yard", *words)

    @classmethod
    def rows(cls, *words):
        """The objects of its --json."""
        lines = cls.yard(*words, "--json").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    @classmethod
    def await_true(cls, condition, what):
        deadline = time.monotonic() + DEADLINE
        while not condition():
            if time.monotonic() >= deadline:
                raise AssertionError(what + "\n" + cls.compose("logs", "--tail", "30"))

    def container(self, service):
        return self.compose("ps", "--quiet", service).split()[-1]

    def inside(self, service, *words):
        return self.engine.attempt("docker", "exec", self.container(service), *words)

    def inspect(self, container, what):
        """The engine's data of a container, in the form of a template."""
        return self.engine.run("inspect", "--format", what, container).strip()

    def trial(self, name):
        return self.rows("show", name)[0]

    def await_reports(self, name, more_than):
        self.await_true(lambda: self.trial(name)["reports"] > more_than, "%s does not go on" % name)
        return self.trial(name)["reports"]

    def stored(self, name):
        """(attempt, count) of each line in its result.json."""
        text = self.inside("trainer", "cat", "/runs/%s/result.json" % name).stdout
        rows = [json.loads(line) for line in text.splitlines()]
        return [(row["of"], row["count"]) for row in rows if "count" in row]

    def expect_nothing_lost(self, name, attempts):
        stored = self.stored(name)
        output = self.inside("trainer", "cat", "/runs/%s/worker-0.1.stdout" % name).stdout
        acknowledged = {(int(a), int(i)) for a, i in re.findall(r"^acknowledged (\d+) (\d+)$", output, re.MULTILINE)}
        self.assertEqual({attempt for attempt, _ in acknowledged}, attempts)
        self.assertEqual(acknowledged - set(stored), set())
        self.assertEqual(len(stored), len(set(stored)), "a report was counted twice")

    def test_the_build_compiles_what_is_new(self):
        found, missing = self.cache.found, self.cache.missing
        print("the image was built with %d actions of the cache, and %d others" % (found, missing), flush=True)
        self.assertGreater(found, 10 * missing, "tools/install has just filled %s: is there a user.bazelrc, or has a "
                           "rule an input that differs in the image?" % cache_server.DISK_CACHE)

    def test_each_service_becomes_healthy(self):
        for service in SERVICES:
            container = self.container(service)
            self.await_true(
                lambda c=container: self.engine.run("inspect", "--format", "{{.State.Health.Status}}", c) == "healthy\n",
                service + " is not healthy")

    def test_the_services_with_an_image_to_build_have_this_checkout_as_context(self):
        shown = self.compose("config")
        for service, is_built in (("registry", True), ("launcher", False), ("datamanager", True), ("trainer", True), ("web", False)):
            block = re.search(r"^  %s:\n((?:    .*\n)*)" % service, shown, re.MULTILINE)
            self.assertIsNotNone(block, shown)
            self.assertEqual(re.findall(r"^ +context: (.*)$", block[1], re.MULTILINE), [str(CHECKOUT)] * is_built)

    def test_containers_are_checked_and_restarted_as_the_composition_says(self):
        composition = (CHECKOUT / "docker-compose.yml").read_text(encoding="utf-8")
        for service in SERVICES:
            said = re.search(r"command: \[%s, .*\n +healthcheck: .* test: \[(.*)\]\}" % service, composition)
            self.assertIsNotNone(said, service)
            words = [word.strip('"') for word in said[1].split(", ")]
            self.assertEqual(words[:4], ["CMD", "yard", "call", service])
            container = self.container(service)
            self.assertEqual(json.loads(self.inspect(container, "{{json .Config.Healthcheck.Test}}")), words)
            self.assertEqual(self.inspect(container, "{{.HostConfig.RestartPolicy.Name}}"), "unless-stopped")

    def test_the_first_process_is_an_init(self):
        for service in SERVICES:
            self.assertEqual(self.inside(service, "cat", "/proc/1/comm").stdout, "tini\n", service)

    def test_a_service_that_is_killed_in_its_container_is_started_again(self):
        container = self.container("trainer")
        started = self.inspect(container, "{{.State.StartedAt}}")
        # The container may end before this has.
        killed = self.inside("trainer", "sh", "-c", KILL, "trainer")
        self.await_true(lambda: self.inspect(container, "{{.State.StartedAt}}") != started,
                        "the trainer's container is not started again: " + killed.stdout)
        self.await_true(lambda: self.yard_ends_with(0, "status", "--check"), "the trainer does not come back")

    def test_the_page_is_published_on_this_machine_alone(self):
        for service in SERVICES:
            bindings = json.loads(self.inspect(self.container(service), "{{json .HostConfig.PortBindings}}"))
            expected = {"7710/tcp": [{"HostIp": "127.0.0.1", "HostPort": "7710"}]} if service == "web" else {}
            self.assertEqual(bindings or {}, expected, service)
        ask = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:7710/healthz').read().decode())"
        self.assertEqual(self.inside("web", "python3", "-c", ask).stdout.split(), ["ok"])
        self.assertIn("http://127.0.0.1:7710/#k=", self.yard("ui", "--print"))

    def test_services_are_nobody_special(self):
        for service in SERVICES:
            self.assertEqual(self.inside(service, "id", "-u").stdout, "1000\n")
            self.assertIn("Read-only", self.inside(service, "touch", "/opt/x").stdout)
            self.assertNotEqual(self.inside(service, "touch", "/work/x").returncode, 0)

    def test_the_digits_example(self):
        out = self.yard("run", "--name", "digits", "--", "sh", "digits.sh", "5")
        self.assertRegex(out, r"accuracy 0\.9[5-9]")
        self.assertIn("accuracy", self.yard("plot", "digits", "-m", "accuracy"))

    def test_what_is_acknowledged_survives_the_kill_of_each_container(self):
        self.yard("run", "--detach", "--name", "counts", "--max_restarts", "1", "--", "counts")
        reports = self.await_reports("counts", 0)
        for service in ("registry", "datamanager", "trainer", "launcher"):
            with self.subTest(killed=service):
                container = self.container(service)
                self.engine.run("kill", container)
                self.engine.run("start", container)
                self.await_true(lambda: self.yard_ends_with(0, "status", "--check"), service + " does not come back")
                reports = self.await_reports("counts", reports)
                self.assertEqual(self.trial("counts")["attempt"], 2 if service == "launcher" else 1)
        self.yard("stop", "counts")
        self.expect_nothing_lost("counts", {1, 2})

    def test_all_is_there_after_down_and_up(self):
        self.yard("run", "--detach", "--name", "before", "--", "counts")
        self.await_reports("before", 0)
        self.compose("down", "--timeout", "5")
        self.up()
        self.assertTrue(self.yard_ends_with(1, "wait", "before", "--timeout", "60"), "its programs ended with the launcher")
        self.expect_nothing_lost("before", {1})


def stop_on_interruption():
    """SIGINT fails the test that runs, and no other begins: unlike a KeyboardInterrupt, it leaves no container behind."""
    unittest.installHandler()
    stop = signal.getsignal(signal.SIGINT)

    def interrupted(number, frame):
        stop(number, frame)
        raise AssertionError("interrupted")
    signal.signal(signal.SIGINT, interrupted)


if __name__ == "__main__":
    stop_on_interruption()
    unittest.main(verbosity=2)
