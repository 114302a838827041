"""Ray Tune's figures for trainer_benchmark, as one line of JSON: ray_figures.py REPORTS TRIALS.

Eight functions report REPORTS times each; TRIALS trials of one report run one after the other.
"""

import json
import os
import sys
import tempfile
import time

os.environ["RAY_AIR_NEW_OUTPUT"] = "0"
os.environ["TUNE_DISABLE_AUTO_CALLBACK_SYNCER"] = "1"

import ray  # pylint: disable=wrong-import-position
from ray import tune  # pylint: disable=wrong-import-position

FUNCTIONS = 8


def resident_megabytes():
    """The resident memory of this process and of all its descendants."""
    parents, resident = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parents[int(pid)] = int(fields[1])
        resident[int(pid)] = int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def is_ours(pid):
        while pid > 1 and pid != os.getpid():
            pid = parents.get(pid, 0)
        return pid == os.getpid()

    return sum(size for pid, size in resident.items() if is_ours(pid))


def report(config):
    begin = time.time()
    for i in range(1, config["reports"] + 1):
        tune.report({"begin": begin, "now": time.time(), "step": i})


def run(folder, name, reports, trials, at_once):
    """The results of so many trials; how long they took, from call to end."""
    begin = time.monotonic()
    results = tune.Tuner(
        tune.with_resources(report, {"cpu": 1}),
        param_space={"reports": reports},
        tune_config=tune.TuneConfig(num_samples=trials, max_concurrent_trials=at_once),
        run_config=tune.RunConfig(storage_path=folder, name=name, verbose=0),
    ).fit()
    took = time.monotonic() - begin
    assert len(results) == trials and not results.errors, results.errors
    for result in results:
        assert result.metrics["training_iteration"] == reports, result.metrics
    return results, took


def main():
    reports, trials = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        ray.init(num_cpus=FUNCTIONS, include_dashboard=False, log_to_driver=False, _temp_dir=folder + "/ray")
        time.sleep(1)
        at_rest = resident_megabytes()
        results, _ = run(folder, "reports", reports, FUNCTIONS, FUNCTIONS)
        # From the first function's start to the last report; Ray's own times are whole seconds.
        seconds = max(result.metrics["now"] for result in results) - min(
            result.metrics["begin"] for result in results
        )
        _, took = run(folder, "trials", 1, trials, 1)
        ray.shutdown()
    print(
        json.dumps(
            {
                "reports_per_second": FUNCTIONS * reports / max(seconds, 1e-3),
                "one_report_trial_ms": 1000 * took / trials,
                "at_rest_megabytes": at_rest,
            }
        )
    )


if __name__ == "__main__":
    main()
