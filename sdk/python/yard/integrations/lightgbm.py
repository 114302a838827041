"""LightGBM: `lightgbm.train(..., valid_sets=[data], callbacks=[YardCallback()])`.

Reports each evaluation as `valid_0/l2` after every round, and ends the training when the yard says stop,
as LightGBM's own early stopping does: `best_iteration` is then the last one.
"""

from __future__ import annotations

from typing import Any, Optional

import lightgbm

import yard
from yard.integrations import shared_reporter


class YardCallback:

    order = 15  # Behind the recording of evaluations, before early stopping.
    before_iteration = False

    def __init__(self, reporter: Optional[yard.Reporter] = None) -> None:
        self.reporter = shared_reporter(reporter)

    def __call__(self, env: Any) -> None:
        evaluations = env.evaluation_result_list or []
        # (Cross-validation calls the data "cv_agg" or "valid", and adds a deviation.)
        row = {"%s/%s" % tuple(one[:2]): one[2] for one in evaluations}
        if not self.reporter.report(row, step=env.iteration + 1):
            raise lightgbm.callback.EarlyStopException(env.iteration, evaluations)
