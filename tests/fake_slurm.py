#!/usr/bin/python3
"""sbatch, squeue, scancel, scontrol and srun of a cluster that is not there; which one is told by the name of this file.

All is in the directory where they are: `jobs/ID.json` is a job, and the file `run` says that jobs start at once; `refuse`
has what sbatch says and refuses. Nodes are processes of this machine.
"""

import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

PLACE = pathlib.Path(__file__).absolute().parent
JOBS = PLACE / "jobs"


def value_of(words, flag):
    """The word behind `flag`, or None."""
    return words[words.index(flag) + 1] if flag in words else None


def read_jobs():
    return [json.loads(path.read_text()) for path in sorted(JOBS.glob("*.json"), key=lambda path: int(path.stem))]


def write_job(job):
    path = JOBS / ("%s.json" % job["id"])
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(job))
    temporary.rename(path)


def sbatch(words):
    refusal = PLACE / "refuse"
    if refusal.exists():
        sys.stderr.write(refusal.read_text())
        return 1
    script = sys.stdin.read()
    JOBS.mkdir(exist_ok=True)
    runs = (PLACE / "run").exists()
    job = {"id": str(len(list(JOBS.glob("*.json"))) + 17), "name": value_of(words, "-J"), "words": words,
           "environment": dict(os.environ), "state": "RUNNING" if runs else "PENDING",
           "reason": "None" if runs else "Priority", "nodes": int(value_of(words, "-N")), "at": int(time.time())}
    if runs:
        process = subprocess.Popen(["/bin/sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True,
                                   env={**os.environ, "SLURM_JOB_ID": job["id"]})
        job["pid"] = process.pid
    write_job(job)
    print(job["id"])
    return 0


def squeue(words):
    name = value_of(words, "-n")
    for job in read_jobs() if JOBS.exists() else []:
        if name in (None, job["name"]) and value_of(words, "-j") in (None, job["id"]):
            hosts = "fake[0-%d]" % (job["nodes"] - 1) if job["state"] == "RUNNING" else ""
            print("|".join([job["id"], job["name"], job["state"], str(job["at"]), hosts, job["reason"],
                            str(job["at"] + 3600)]))
    return 0


def scancel(words):
    for job in read_jobs() if JOBS.exists() else []:
        if job["name"] == value_of(words, "-n") and job["state"] in ("PENDING", "RUNNING"):
            if "pid" in job:
                try:
                    os.killpg(job["pid"], signal.SIGTERM)
                except ProcessLookupError:
                    pass
            write_job({**job, "state": "CANCELLED"})
    return 0


def scontrol(_words):
    print("SLURM_VERSION           = 22.05.8\nMessageTimeout          = 1 sec\nKillWait                = 5 sec")
    return 0


def srun(words):
    count = int(next(word for word in words if word.startswith("--nodes=")).partition("=")[2])
    program = words[next(i for i, word in enumerate(words) if not word.startswith("-")):]
    tasks = [subprocess.Popen(program, env={**os.environ, "SLURM_NODEID": str(i), "SLURM_PROCID": str(i),
                                            "SLURM_CPUS_ON_NODE": "4", "SLURMD_NODENAME": "fake%d" % i})
             for i in range(count)]
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # (The tasks get it, too.)
    return max(task.wait() for task in tasks)


if __name__ == "__main__":
    PLACE.mkdir(exist_ok=True)
    if pathlib.Path(__file__).name == "sbatch":
        with open(PLACE / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            sys.exit(sbatch(sys.argv[1:]))
    sys.exit(globals()[pathlib.Path(__file__).name](sys.argv[1:]))
