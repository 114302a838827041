"""A running yard is copied, and a yard that is started with the copy has what was in it."""

import json
import os
import pathlib
import shutil
import subprocess

from bazel.python import xml_runner
from tests import yard_case

PROGRAM = """
for i in 1 2 3; do echo "{\\"t\\":\\"report\\",\\"m\\":{\\"loss\\":$i},\\"step\\":$i}" >&3; read -r reply <&3; done
"""
# It has reported once, and goes on until it is killed.
WAITS = PROGRAM + "\necho waits\nexec sleep 1000\n"


class BackupTest(yard_case.YardCase):

    def back_up(self, service, directory):
        return json.loads(self.yard("call", service, "Backup", json.dumps({"directory": str(directory)}))[0])

    def test_a_restored_yard_has_what_was_there(self):
        self.yard("run", "--name", "ended", "--", "sh", "-c", PROGRAM)
        self.yard("run", "--detach", "--name", "running", "--", "sh", "-c", WAITS)
        self.await_true(lambda: "waits" in self.yard("logs", "running")[0], "the program does not start")
        copy = pathlib.Path(self.directory, "copy")
        for service in ("trainer", "launcher"):
            answer = self.back_up(service, copy)
            path = copy / (service + ".db")
            self.assertEqual(answer["files"], [str(path)])
            self.assertEqual(int(answer["bytes"]), path.stat().st_size)
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.assertEqual(copy.stat().st_mode & 0o777, 0o700)
        self.assertEqual({path.name for path in copy.iterdir()}, {"trainer.db", "launcher.db"})
        shutil.copytree(os.path.join(self.directory, "state", "jobs"), copy / "jobs")
        # What comes later is not in it; the same directory can be used again.
        self.yard("run", "--name", "later", "--", "sh", "-c", PROGRAM)

        _, why = self.finish(self.start_yard("call", "trainer", "Backup", '{"directory": "copy"}'), 2)
        self.assertIn('"copy" is no absolute path of a directory', why)
        state = os.path.join(self.directory, "state")
        _, why = self.finish(
            self.start_yard("call", "trainer", "Backup", json.dumps({"directory": state})), 2)
        self.assertIn("trainer.db is the database itself", why)
        self.finish(self.start_yard("call", "datamanager", "Backup", json.dumps({"directory": str(copy)})), 2)

        self.yard("down")
        other = dict(self.environment, YARD_STATE=str(copy))
        def yard(*words):
            return subprocess.run([self.yard_program, *words], cwd=self.directory, env=other, check=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=yard_case.LONG,
                                  text=True).stdout
        self.addCleanup(yard, "down")
        yard("up")
        trials = {trial["name"]: trial for trial in map(json.loads, yard("ps", "-a", "--json").splitlines())
                  if trial.get("name") in ("ended", "running", "later")}
        self.assertEqual(set(trials), {"ended", "running"})
        self.assertEqual(trials["ended"]["state"], "done")
        # Its process ended with the first yard.
        self.await_true(lambda: json.loads(yard("show", "running", "--json"))["state"] == "failed",
                        lambda: yard("show", "running", "--json"))
        yard("run", "--name", "new", "--", "sh", "-c", PROGRAM)


if __name__ == "__main__":
    xml_runner.main()
