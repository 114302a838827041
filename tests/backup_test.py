"""A running yard is copied, and a yard that is started with the copy has what was in it (docs/operating.md)."""

import json
import pathlib
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
        state = pathlib.Path(self.directory, "state")
        subprocess.run(["cp", "-a", state / "jobs", copy], check=True)
        # Later trials are not in the copy; the same directory can be used again.
        self.yard("run", "--name", "later", "--", "sh", "-c", PROGRAM)

        _, why = self.finish(self.start_yard("call", "trainer", "Backup", '{"directory": "copy"}'), 2)
        self.assertIn('"copy" is no absolute path of a directory', why)
        _, why = self.finish(
            self.start_yard("call", "trainer", "Backup", json.dumps({"directory": str(state)})), 2)
        self.assertIn("trainer.db is the database itself", why)
        self.finish(self.start_yard("call", "datamanager", "Backup", json.dumps({"directory": str(copy)})), 2)

        self.yard("down")
        away = pathlib.Path(self.directory, "away")
        away.mkdir()
        own = [*state.glob("*.db"), *state.glob("*.db-wal"), *state.glob("*.db-shm"), state / "jobs"]
        self.assertGreaterEqual({path.name for path in own}, {"trainer.db", "launcher.db", "jobs"})
        for path in own:
            path.rename(away / path.name)
        subprocess.run(["cp", "-a", "%s/." % copy, state], check=True)
        self.yard("up")
        listed = map(json.loads, self.yard("ps", "-a", "--json")[0].splitlines())
        trials = {trial["name"]: trial for trial in listed if trial["kind"] == "trial"}
        self.assertEqual(set(trials), {"ended", "running"})
        self.assertEqual((trials["ended"]["state"], trials["ended"]["reports"]), ("done", 3))
        reports = map(json.loads, self.yard("watch", "ended", "--all", "--json")[0].splitlines())
        self.assertEqual([report["metrics"]["loss"] for report in reports], [1, 2, 3])
        # Its process ended with the yard that was copied.
        self.await_true(lambda: json.loads(self.yard("show", "running", "--json")[0])["state"] == "failed",
                        lambda: self.yard("show", "running", "--json")[0])
        self.yard("run", "--name", "new", "--", "sh", "-c", PROGRAM)


if __name__ == "__main__":
    xml_runner.main()
