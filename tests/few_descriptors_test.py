"""A data manager that may open 64 files (`ulimit -n 64`) serves hundreds of runs all the same."""

import json
import pathlib

from bazel.python import xml_runner
from tests import yard_case
from tests.event_records import points

DESCRIPTORS = 64
RUNS = 300
POINTS = 10
FILE = "events.out.tfevents.1.x"
ASKED_AT_ONCE = 12


class FewDescriptorsTest(yard_case.YardCase):

    @classmethod
    def _services(cls, *words):
        """They are started by hand, and stopped as always."""
        if words[0] != "up":
            super()._services(*words)

    def start_service(self, name, *words):
        binary = str(self.binaries / name / name)
        return self.start("/bin/sh", "-c", 'ulimit -n %d && exec "$0" "$@"' % DESCRIPTORS, binary,
                          *words)

    def call(self, method, **request):
        process = self.start_yard("call", "datamanager", method, json.dumps(request))
        out, err = process.communicate(timeout=yard_case.LONG)
        return json.loads(out) if process.returncode == 0 else {"error": err}

    def path_of(self, run):
        return pathlib.Path(self.directory, "runs", "run-%d" % run, FILE)

    def await_status(self, **expected):
        self.await_true(lambda: expected.items() <= self.call("DataStatus").items(),
                        lambda: self.call("DataStatus"))

    def await_points(self, expected):
        def look():
            out, _ = self.yard("runs", "--json")
            return sum(json.loads(line)["points"] or 0 for line in out.splitlines())
        self.await_true(lambda: look() == expected, lambda: "%d points" % look())

    def test_all_points_are_served(self):
        self.binaries = pathlib.Path(".").absolute()
        for run in range(RUNS):
            path = self.path_of(run)
            path.parent.mkdir(parents=True)
            path.write_bytes(points(0, POINTS))
        registry = self.start(str(self.binaries / "registry/registry"))
        # As many threads as there are on a machine of many cores.
        manager = self.start_service("datamanager", "--logdir=runs", "--load_threads=30")
        self.await_status(state="Done", runs=RUNS, counted=RUNS, cached=RUNS, failed=0)
        limits = pathlib.Path("/proc/%d/limits" % manager.pid).read_text()
        self.assertRegex(limits, r"Max open files +%d +%d " % (DESCRIPTORS, DESCRIPTORS))

        # Some that ask at once, each over a connection of its own.
        asking = [self.start_yard("export", "run-%d" % run, "--format", "csv")
                  for run in range(ASKED_AT_ONCE)]
        for process in asking:
            out, _ = self.finish(process)
            self.assertEqual(len(out.splitlines()), 1 + POINTS, out)

        # All that grow at once are read as well.
        for run in range(RUNS):
            with self.path_of(run).open("ab") as file:
                file.write(points(POINTS, POINTS + 1))
        self.await_points(RUNS * (POINTS + 1))
        self.await_status(state="Done", cached=RUNS, failed=0)
        for process in (registry, manager):
            self.assertIsNone(process.poll())


if __name__ == "__main__":
    xml_runner.main()
