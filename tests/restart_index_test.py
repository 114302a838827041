"""After a restart the data manager goes on from its indexes: what is read of the event files again."""

import json
import os
import pathlib
import signal

from bazel.python import xml_runner
from tests import yard_case
from tests.event_records import points

RUNS = 30
POINTS = 3000
FILE = "events.out.tfevents.1.x"


class RestartIndexTest(yard_case.YardCase):

    def counters(self):
        """The counters of the data manager, with its pid and the bytes that it has read, of
        whatever file."""
        stats = json.loads(self.yard("call", "datamanager", "Stats", "{}")[0])
        counters = {counter["name"]: counter.get("value", 0) for counter in stats["counters"]}
        counters["pid"] = stats["pid"]
        io = dict(line.split(": ") for line in
                  pathlib.Path("/proc/%d/io" % stats["pid"]).read_text().splitlines())
        counters["rchar"] = int(io["rchar"])
        return counters

    def is_another(self, pid):
        process = self.start_yard("call", "datamanager", "Stats", "{}")
        out, _ = process.communicate(timeout=yard_case.LONG)
        return process.returncode == 0 and json.loads(out)["pid"] != pid

    def await_loaded(self, all_points):
        def look():
            out, _ = self.yard("runs", "--json")
            return sum(json.loads(line)["points"] or 0 for line in out.splitlines())
        self.await_true(lambda: look() == all_points, lambda: "%d points" % look())

    def await_counter(self, name, least):
        self.await_true(lambda: self.counters().get(name, 0) >= least,
                        lambda: "%s is not %d: %s" % (name, least, self.counters()))

    def assert_little(self, counters, log_bytes):
        self.assertEqual(counters["indexes_used"], RUNS, counters)
        self.assertEqual(counters["indexes_refused"], 0, counters)
        self.assertLess(counters["event_bytes_read"], log_bytes * 0.05, counters)
        self.assertGreater(counters["event_bytes_spared"], log_bytes * 0.95, counters)
        self.assertLess(counters["index_bytes"], log_bytes * 0.35, counters)
        print("%d bytes of event files, %d of indexes: %d were read again" %
              (log_bytes, counters["index_bytes"], counters["event_bytes_read"]))

    def test_little_is_read_again(self):
        content = points(0, 100) * (POINTS // 100)
        for run in range(RUNS):
            path = pathlib.Path(self.directory, "runs", "run-%d" % run, FILE)
            path.parent.mkdir(parents=True)
            path.write_bytes(content)
        log_bytes = RUNS * len(content)
        self.await_loaded(RUNS * POINTS)
        self.await_counter("event_bytes_read", log_bytes)
        first = self.counters()

        with self.subTest("after a clean stop"):
            self._services("down")
            self._services("up")
            self.await_loaded(RUNS * POINTS)
            self.await_counter("indexes_used", RUNS)
            second = self.counters()
            self.assertNotEqual(second["pid"], first["pid"])
            self.assert_little(second, log_bytes)
            # The indexes themselves are read, and are much smaller.
            self.assertLess(second["rchar"], first["rchar"] / 2)

        with self.subTest("after a kill"):
            os.kill(second["pid"], signal.SIGKILL)
            self.await_true(lambda: self.is_another(second["pid"]), "it is not restarted")
            self.await_loaded(RUNS * POINTS)
            self.await_counter("indexes_used", RUNS)
            self.assert_little(self.counters(), log_bytes)


if __name__ == "__main__":
    xml_runner.main()
