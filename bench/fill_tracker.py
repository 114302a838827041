"""Writes points as runs of Aim or MLflow, by the library of each: run by the Python that has it.

    fill_tracker.py {aim|mlflow} DIRECTORY RUNS < POINTS      POINTS: lines "step,wall_time,value"
"""

import sys

TAG = "train/loss"


def fill_aim(directory, runs, points):
    import aim

    repo = aim.Repo(directory, init=True)
    for number in range(runs):
        run = aim.Run(repo=repo, experiment="run_%05d" % number, system_tracking_interval=None, log_system_params=False)
        for step, _, value in points:
            run.track(value, name=TAG, step=step)
        run.close()


def fill_mlflow(directory, runs, points):
    from mlflow import MlflowClient
    from mlflow.entities import Metric

    client = MlflowClient("sqlite:///%s/mlflow.db" % directory)
    experiment = client.create_experiment("runs")
    metrics = [Metric(TAG, value, int(1000 * time), step) for step, time, value in points]
    for number in range(runs):
        run = client.create_run(experiment, run_name="run_%05d" % number).info.run_id
        for first in range(0, len(metrics), 1000):
            client.log_batch(run, metrics[first:first + 1000])
        client.set_terminated(run)


def main():
    tracker, directory, runs = sys.argv[1:]
    points = []
    for line in sys.stdin:
        step, time, value = line.split(",")
        points.append((int(step), float(time), float(value)))
    {"aim": fill_aim, "mlflow": fill_mlflow}[tracker](directory, int(runs), points)


if __name__ == "__main__":
    main()
