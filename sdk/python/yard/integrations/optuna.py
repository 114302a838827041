"""Optuna: a study inside one trial of the yard, `study.optimize(f, callbacks=[YardCallback()])`.

The callback reports each ended trial: `value` (or `values/0` and so on), its parameters as `params/NAME`, and
`best`. YardPruner reports intermediate values, and lets the yard stop the trial that runs; it asks
another pruner otherwise. Either ends the study when the yard says stop.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

import optuna

import yard
from yard.integrations import shared_reporter


class YardCallback:

    def __init__(self, reporter: Optional[yard.Reporter] = None) -> None:
        self.reporter = shared_reporter(reporter)

    def __call__(self, study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        row: Dict[str, Any] = {"state": trial.state.name}
        if trial.values is not None and len(trial.values) > 1:
            row["values"] = {str(index): value for index, value in enumerate(trial.values)}
        elif trial.values is not None:
            row["value"] = trial.values[0]
            if trial.state == optuna.trial.TrialState.COMPLETE:
                row["best"] = study.best_value
        row["params"] = {name: value if isinstance(value, (int, float, str)) else str(value)
                         for name, value in trial.params.items()}
        if not self.reporter.report(row, step=trial.number):
            study.stop()


class YardPruner(optuna.pruners.BasePruner):
    """
    Args:
        pruner: who decides where the yard does not. Default: nothing is pruned.
        reporter: one's own. Default: that of the process.
    """

    def __init__(self, pruner: Optional[optuna.pruners.BasePruner] = None,
                 reporter: Optional[yard.Reporter] = None) -> None:
        self._pruner = pruner or optuna.pruners.NopPruner()
        self.reporter = shared_reporter(reporter)

    def prune(self, study: optuna.Study, trial: optuna.trial.FrozenTrial) -> bool:
        step = trial.last_step
        if step is not None:
            row = {"trial": trial.number, "intermediate": trial.intermediate_values[step]}
            if not self.reporter.report(row):
                study.stop()
                return True
        return bool(self._pruner.prune(study, trial))
