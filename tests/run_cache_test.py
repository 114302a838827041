"""Tests of what the data manager holds in memory, and of how a caller changes that: `yard call datamanager ...`."""

import json
import pathlib

from bazel.python import xml_runner
from tests import yard_case
from tests.event_records import points

FILE = "events.out.tfevents.1.x"
POINTS = 10


class RunCacheTest(yard_case.YardCase):

    up_words = ("--datamanager", "cache_mb=7", "--datamanager", "load_threads=3",
                "--datamanager", "reload_interval=250ms")

    def call(self, method, **request):
        return json.loads(self.yard("call", "datamanager", method, json.dumps(request))[0])

    def refused(self, method, exit_code, **request):
        process = self.start_yard("call", "datamanager", method, json.dumps(request))
        return self.finish(process, exit_code)[1]

    def status(self):
        return self.call("DataStatus")

    def await_status(self, **expected):
        self.await_true(lambda: expected.items() <= self.status().items(), self.status)

    def test_runs_come_into_memory_and_go(self):
        self.await_status(state="Invalid", runs=0)  # Nothing there yet, and that is answered.
        for run in ["a", "b"]:
            path = pathlib.Path(self.directory, "runs", run, FILE)
            path.parent.mkdir(parents=True)
            path.write_bytes(points(0, POINTS))
        size = len(points(0, POINTS))
        # A look at what has changed is enough to leave "invalid".
        self.await_status(state="Done", runs=2, counted=2, cached=2, caching=0, failed=0,
                          read_bytes=2 * size, total_bytes=2 * size, budget_bytes=7 << 20,
                          load_threads=3, reload_interval_ms=250)
        self.await_true(lambda: self.status()["index_bytes"] > 0, self.status)

        # It stays listed, and is read anew.
        self.assertEqual(self.call("UncacheRun", run="a")["run"]["name"], "a")
        self.assertEqual([run["name"] for run in self.call("Runs")["runs"]].count("a"), 1)
        self.call("Reload")
        (again,) = self.call("Runs", run="a")["runs"]
        self.assertEqual((again["generation"], again["points"]), (1, POINTS))

        (cached,) = self.call("CacheRun", runs=["a"])["runs"]
        self.assertIn(cached["cache"], ["Caching", "Cached"])
        self.assertGreater(cached["access_us"], 0)
        self.await_status(cached=2)
        self.assertEqual(self.call("Tags", run="a", cached_only=True)["cache"], "Cached")

        reloaded = self.call("Reload", run="a")
        self.assertEqual((reloaded["joined"], reloaded["status"]["runs"]), (False, 2))
        for method, request in [("CacheRun", {"runs": ["b", "none"]}), ("UncacheRun", {"run": "none"}),
                                ("Reload", {"run": "none"})]:
            self.assertIn('no run "none"', self.refused(method, 3, **request))


if __name__ == "__main__":
    xml_runner.main()
