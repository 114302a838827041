"""`yard pool`: jobs on other hosts, over a real ssh.

The hosts are two servers of ssh on this machine, each with a home and a directory for temporary files of its own.
"""

import json
import os
import pathlib
import signal
import time
import unittest

from bazel.python import xml_runner
from tests import ssh_server, yard_case


def words_of(pid):
    try:
        return pathlib.Path("/proc/%s/cmdline" % pid).read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


class PoolCase(yard_case.YardCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(ssh_server.SSHD):
            what = "there is no %s: tools/setup installs it" % ssh_server.SSHD
            raise AssertionError(what) if os.environ.get("CI") else unittest.SkipTest(what)
        super().setUpClass()
        configs, cls.servers = [], {}
        for name in ("one", "two", "locked"):
            home = pathlib.Path(cls.directory, name)
            home.mkdir()
            sshd = ssh_server.Sshd(cls.directory + "/sshd-" + name, {"HOME": home, "TMPDIR": home})
            cls.addClassCleanup(sshd.stop)
            cls.servers[name] = sshd
            if name == "locked":
                (sshd.directory / "key.pub").write_text("")
            configs.append(sshd.client_config(name).read_text())
        config = pathlib.Path(cls.directory, "ssh_config")
        config.write_text("\n".join(configs) + "\nHost nowhere\n  HostName 127.0.0.1\n  Port 1\n")
        cls.environment["YARD_SSH"] = "ssh -F %s" % config

    def tearDown(self):
        if self.nodes():
            self.yard("pool", "rm", "lab", "--force")
        super().tearDown()

    def nodes(self):
        return {node["name"]: node for node in map(json.loads, self.yard("pool", "--json")[0].splitlines())}

    def processes(self, *wanted):
        """The process ids of programs of this yard that have all of these words (another test may run beside it)."""
        pids = [path.name for path in pathlib.Path("/proc").glob("[0-9]*")]
        return {int(pid) for pid in pids if set(wanted) <= set(words_of(pid)) and self.is_of_this_yard(pid)}

    def is_of_this_yard(self, pid):
        try:
            return self.directory.encode() + b"/" in pathlib.Path("/proc/%s/environ" % pid).read_bytes()
        except OSError:
            return False

    def node_pid(self, host):
        """The process id of the node on this host; 0 while it begins."""
        locks = list(pathlib.Path(self.directory, host).glob("yard-*/n/lock"))
        self.assertEqual(len(locks), 1, locks)
        return int(locks[0].read_text() or 0)

    def keeper(self, host):
        return self.processes("--keep_host", "lab", host)

    def ssh_of(self, host):
        """The ssh that holds the connection to a host: the one that forwards sockets."""
        return self.processes("-R", host)

    def await_new(self, look, before, what):
        self.await_true(lambda: look() and not look() & before, what)

    def await_connected(self, host):
        self.await_true(lambda: self.nodes()[host]["state"] == "connected", lambda: self.nodes())

    def refused(self, *words):
        """The exit code and stderr of a command."""
        process = self.start_yard(*words)
        _, err = process.communicate(timeout=yard_case.LONG)
        return process.returncode, err


class HostsTest(PoolCase):
    def test_hosts_connect_and_nothing_is_left(self):
        out, err = self.yard("pool", "lab", "--hosts", "one,two")
        self.assertRegex(out, r"lab +one +one +connected")
        self.assertRegex(out, r"lab +two +two +connected")
        for told in ("one: copying", "two: copying"):
            self.assertIn(told, err)
        nodes = self.nodes()
        self.assertEqual(set(nodes), {"one", "two"})
        for node in nodes.values():
            self.assertEqual((node["pool"], node["state"], node["tasks"]), ("lab", "connected", []))
            self.assertGreaterEqual(node["cpus"], 1)
        pids = [self.node_pid(host) for host in ("one", "two")]
        for host in ("one", "two"):
            directories = list(pathlib.Path(self.directory, host).iterdir())
            self.assertEqual([oct(path.stat().st_mode & 0o777) for path in directories], ["0o700"])
            for name in ("l", "t"):
                self.assertEqual((directories[0] / name).stat().st_mode & 0o077, 0)
        self.assertEqual(self.yard("pool", "rm", "lab")[0], "pool lab is removed\n")
        self.assertEqual(self.nodes(), {})
        for host in ("one", "two"):
            self.assertEqual(list(pathlib.Path(self.directory, host).iterdir()), [])
        self.assertEqual([pid for pid in pids if words_of(pid)], [])
        self.assertEqual(self.keeper("one") | self.ssh_of("one"), set())

    def test_the_pool_changes_and_hosts_that_stay_are_left_alone(self):
        self.yard("pool", "lab", "--hosts", "one,two", "--slots", "3")
        before = self.node_pid("one")
        out, _ = self.yard("pool", "lab", "--hosts", "one", "--slots", "2")
        self.assertNotIn("two", out)
        self.assertEqual(self.node_pid("one"), before)
        self.assertEqual(self.nodes()["one"]["slots"], 2)
        self.assertEqual(list(pathlib.Path(self.directory, "two").iterdir()), [])
        code, err = self.refused("pool", "other", "--hosts", "one")
        self.assertEqual(code, 6, err)
        self.assertIn("node one is in pool lab", err)

    def test_a_node_that_comes_through_the_gate_stays_until_its_pool_goes_and_then_its_key_does(self):
        self.yard("gate", "allow", "far", "--node", "--pool", "lab", "--address", "tcp://127.0.0.1:1")
        self.yard("gate", "allow", "other", "--node", "--pool", "elsewhere", "--address", "tcp://127.0.0.1:1")
        self.yard("pool", "lab", "--hosts", "one")
        self.yard("pool", "lab", "--hosts", "two")
        self.assertEqual({name for name, node in self.nodes().items() if node["pool"] == "lab"}, {"far", "two"})
        self.yard("pool", "rm", "lab")
        self.assertEqual(set(self.nodes()), {"other"})
        keys = [row["name"] for row in map(json.loads, self.yard("gate", "list", "--json")[0].splitlines()) if row.get("role") == "node"]
        self.assertEqual(keys, ["other"])
        self.yard("pool", "rm", "elsewhere")

    def test_a_host_with_tasks_is_not_taken_out_unless_somebody_insists(self):
        self.yard("pool", "lab", "--hosts", "one")
        spec = {"name": "there", "pool": "lab", "argv": ["sleep", "1000000"], "environment": ["PATH=/usr/bin:/bin"],
                "working_directory": "/"}
        job = json.loads(self.yard("call", "launcher", "Launch", json.dumps({"spec": spec}))[0])["job"]["id"]
        task = job + "/worker-0"
        self.await_true(lambda: self.nodes()["one"]["tasks"] == [task], lambda: self.nodes())
        for words in (("rm", "lab"), ("lab", "--hosts", "two")):
            code, err = self.refused("pool", *words)
            self.assertEqual(code, 6, err)
            self.assertIn("one has %s; next: yard pool drain one" % task, err)
        self.assertEqual(self.yard("pool", "drain", "one")[0], "one gets no further task, and still has %s\n" % task)
        self.yard("pool", "rm", "lab", "--force")
        self.assertEqual(list(pathlib.Path(self.directory, "one").iterdir()), [])
        # (Lost, if its node was gone before its end was heard.)
        self.assertIn(json.loads(self.yard("show", job, "--json")[0])["state"], ("failed", "lost"))

    def test_drain_stays_when_the_connection_is_made_again(self):
        self.yard("pool", "lab", "--hosts", "one")
        self.assertEqual(self.yard("pool", "drain", "one")[0], "one gets no further task, and has none\n")
        self.assertTrue(self.nodes()["one"]["draining"])
        before = self.ssh_of("one")
        os.kill(min(before), signal.SIGKILL)
        self.await_new(lambda: self.ssh_of("one"), before, "ssh is not started again")
        self.await_true(lambda: self.nodes()["one"]["state"] == "draining", lambda: self.nodes())
        self.yard("pool", "resume", "one")
        self.await_connected("one")

    def test_a_command_that_makes_no_sense_is_refused(self):
        for words, said in (((), ""), (("drain",), "expected: yard pool drain HOST"), (("rm",), "expected"),
                            (("a", "b"), "none of drain"), (("lab", "--slots", "2"), "--slots needs --hosts"),
                            (("Lab", "--hosts", "one"), "no name of a pool"),
                            (("lab", "--hosts", "-oProxyCommand=touch pwned"), "no host for ssh")):
            if words:
                code, err = self.refused("pool", *words)
                self.assertEqual(code, 2, err)
                self.assertIn(said, err)
        for words in (("pool", "lab"), ("pool", "rm", "lab"), ("pool", "drain", "one")):
            self.assertEqual(self.refused(*words)[0], 3)

    def test_a_host_that_cannot_be_reached_is_named_with_the_cause_and_the_next_step(self):
        code, err = self.refused("pool", "lab", "--hosts", "one,nowhere")
        self.assertEqual(code, 4, err)
        self.assertRegex(err, r"cannot reach nowhere: .*Connection refused.*; next: ssh -F \S+ nowhere true")
        nodes = self.nodes()
        self.assertEqual({name: node["state"] for name, node in nodes.items()}, {"one": "connected", "nowhere": "away"})
        self.assertIn("Connection refused", nodes["nowhere"]["why"])

    def test_a_key_that_is_refused_is_said(self):
        code, err = self.refused("pool", "lab", "--hosts", "locked")
        self.assertEqual(code, 4, err)
        self.assertRegex(err, r"cannot reach locked: .*Permission denied.*; next: .*locked true, which must ask for no password")


class KillTest(PoolCase):
    def test_the_node_goes_on_whatever_is_killed_here(self):
        self.yard("pool", "lab", "--hosts", "one")
        node = self.node_pid("one")
        ssh = self.ssh_of("one")
        with self.subTest("ssh"):
            os.kill(min(ssh), signal.SIGKILL)
            self.await_new(lambda: self.ssh_of("one"), ssh, "ssh is not started again")
            self.await_connected("one")
            self.assertEqual(self.node_pid("one"), node)
        with self.subTest("keeper"):
            before = self.keeper("one")
            ssh = self.ssh_of("one")
            for pid in before:
                os.kill(pid, signal.SIGKILL)
            self.await_new(lambda: self.keeper("one"), before, "the task is not started again")
            self.await_new(lambda: self.ssh_of("one"), ssh, "ssh is not started again")
            self.await_connected("one")
            self.assertEqual(self.node_pid("one"), node)
        with self.subTest("launcher"):
            self.kill_service("launcher")
            self.await_connected("one")
            self.assertEqual(self.node_pid("one"), node)
        with self.subTest("node"):
            os.kill(node, signal.SIGKILL)
            self.await_true(lambda: self.node_pid("one") not in (0, node), "the node is not started again")
            self.await_connected("one")

    def test_down_does_not_wait_for_a_host_that_is_away(self):
        self.yard("pool", "lab", "--hosts", "one", "--slots", "2")
        spec = {"pool": "lab", "argv": ["sleep", "1000001"], "environment": ["PATH=/usr/bin:/bin"], "working_directory": "/"}
        job = json.loads(self.yard("call", "launcher", "Launch", json.dumps({"spec": spec}))[0])["job"]["id"]
        self.yard("run", "--at", "lab", "--detach", "--", "sleep", "1000002")
        self.await_true(lambda: self.processes("sleep", "1000001") and self.processes("sleep", "1000002"), "nothing runs there")
        server = self.servers["one"].process
        os.kill(server.pid, signal.SIGSTOP)  # A new connection is not answered.
        self.addCleanup(os.kill, server.pid, signal.SIGCONT)
        for pid in self.ssh_of("one"):
            os.kill(pid, signal.SIGKILL)
        self.await_true(lambda: self.nodes()["one"]["state"] == "away", lambda: self.nodes())
        begin = time.monotonic()
        _, err = self.yard("down")
        self.assertLess(time.monotonic() - begin, 45)  # (Waiting for the host would take a minute.)
        self.assertRegex(err, r"node one is away: yard-node, .*%s/worker-0.* and its directory may be left on one; next: yard up" % job)
        self.assertTrue(self.processes("sleep", "1000001") and self.processes("sleep", "1000002"))
        os.kill(server.pid, signal.SIGCONT)
        self.yard("up")
        self.await_connected("one")
        self.await_true(lambda: not self.processes("sleep", "1000001") | self.processes("sleep", "1000002"), "they go on")

    def test_the_pool_comes_back_with_the_yard(self):
        self.yard("pool", "lab", "--hosts", "one", "--slots", "7")
        self.yard("pool", "drain", "one")
        self.yard("down")
        self.assertEqual(list(pathlib.Path(self.directory, "one").iterdir()), [])
        self.yard("up")
        self.await_true(lambda: self.nodes()["one"]["state"] == "draining", lambda: self.nodes())
        self.assertEqual(self.nodes()["one"]["slots"], 7)


if __name__ == "__main__":
    xml_runner.main()
