"""XGBoost: `xgboost.train(..., evals=[(data, "train")], callbacks=[YardCallback()])`.

Reports each evaluation as `train/rmse`, ends the training when the yard says stop, and saves the model as
`model.ubj` in a checkpoint.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Optional

import xgboost

import yard
from yard.integrations import shared_reporter


class YardCallback(xgboost.callback.TrainingCallback):
    """
    Args:
        reporter: one's own. Default: that of the process.
        save_every: rounds between two checkpoints; 0, the default, saves none.
    """

    def __init__(self, reporter: Optional[yard.Reporter] = None, save_every: int = 0) -> None:
        super().__init__()
        self.reporter = shared_reporter(reporter)
        self._save_every = save_every

    def after_iteration(self, model: Any, epoch: int, evals_log: Dict[str, Dict[str, Any]]) -> bool:
        row = {}
        for data, metrics in evals_log.items():
            for metric, values in metrics.items():
                last = values[-1]  # A pair where it was cross-validation: mean and deviation.
                row["%s/%s" % (data, metric)] = last[0] if isinstance(last, tuple) else last
        count = model.num_boosted_rounds() if hasattr(model, "num_boosted_rounds") else epoch + 1
        stop = not self.reporter.report(row, step=count)
        if self._save_every and (stop or count % self._save_every == 0):
            with self.reporter.save(count) as directory:
                model.save_model(os.path.join(directory, "model.ubj"))
        return stop


def model_path(reporter: Optional[yard.Reporter] = None) -> Optional[str]:
    """`xgboost.train(..., xgb_model=model_path())`: the model to go on with, or None."""
    directory = shared_reporter(reporter).checkpoint
    return None if directory is None else os.path.join(directory, "model.ubj")
