"""Hydra: `python train.py --multirun hydra/launcher=yard lr=0.1,0.01` starts a trial for each job.

Each is `yard run -- python train.py OVERRIDES`, with the job's configuration as the trial's; so it waits for a slot,
can be stopped, and is compared like any other. Hydra finds the launcher by hydra_plugins/yard_launcher.py.
A job returns the metric of its last report that `hydra.launcher.metric` names: a sweeper that
optimises sees it. Ctrl-C stops the trials.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from hydra.core.utils import JobReturn, JobStatus, filter_overrides
from hydra.plugins.launcher import Launcher
from omegaconf import DictConfig, OmegaConf, open_dict


class YardLauncherBase(Launcher):
    """
    Args:
        metric: whose last value a job returns. Default: none.
        words: more words for `yard run`, such as `[--max_restarts, "2"]`.
        program: the command line of the yard.
    """

    def __init__(self, metric: str = "", words: Sequence[str] = (), program: str = "yard") -> None:
        self._metric, self._words, self._program = metric, list(words), program
        self._config: Any = None
        self._context: Any = None

    def setup(self, *, hydra_context: Any, task_function: Any, config: DictConfig) -> None:
        self._config, self._context = config, hydra_context

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        started: List[JobReturn] = []
        try:
            ids = [self._start(list(overrides), initial_job_idx + index, started)
                   for index, overrides in enumerate(job_overrides)]
            self._yard("wait", *ids)
            for job, trial in zip(started, ids):
                self._finish(job, json.loads(self._yard("show", trial, "--json").stdout))
        except BaseException:
            if started:
                self._yard("stop", *[job.task_name for job in started if job.task_name])
            raise
        return started

    def _start(self, overrides: List[str], number: int, started: List[JobReturn]) -> str:
        sweep = self._context.config_loader.load_sweep_config(self._config, overrides)
        with open_dict(sweep):
            del sweep["hydra"]
        config = json.dumps(OmegaConf.to_container(sweep, resolve=True))
        words = [word for word in filter_overrides(overrides)]
        answer = self._yard("run", "--detach", "--json", "--config", config, *self._words, "--",
                            sys.executable, os.path.abspath(sys.argv[0]), *words, "hydra.run.dir=.",
                            "hydra.output_subdir=null", "hydra.job.num=%d" % number, check=True)
        trial = str(json.loads(answer.stdout.splitlines()[0])["id"])
        started.append(JobReturn(overrides=overrides, cfg=sweep, task_name=trial, status=JobStatus.UNKNOWN))
        return trial

    def _finish(self, job: JobReturn, trial: Dict[str, Any]) -> None:
        if trial["state"] != "done":
            job.status = JobStatus.FAILED
            job.return_value = RuntimeError("trial %s: %s" % (trial["id"], trial["reason"] or trial["state"]))
            return
        job.status, job.working_dir = JobStatus.COMPLETED, trial["directory"]
        job.return_value = trial["metrics"].get(self._metric) if self._metric else None

    def _yard(self, *words: str, check: bool = False) -> Any:
        return subprocess.run([self._program, *words], stdout=subprocess.PIPE, text=True, check=check)
