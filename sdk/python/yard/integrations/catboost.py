"""CatBoost: `model.fit(..., eval_set=data, callbacks=[YardCallback()])`.

Reports each metric as `learn/RMSE` and `validation/RMSE` after every iteration, and ends the training
when the yard says stop. (On GPUs CatBoost has no callbacks: `yard run --output` reads nothing of its
lines either; use its TensorBoard files there.)
"""

from __future__ import annotations

from typing import Any, Optional

import yard
from yard.integrations import shared_reporter


class YardCallback:

    def __init__(self, reporter: Optional[yard.Reporter] = None) -> None:
        self.reporter = shared_reporter(reporter)

    def after_iteration(self, info: Any) -> bool:
        row = {"%s/%s" % (data, metric): values[-1]
               for data, metrics in (info.metrics or {}).items() for metric, values in metrics.items() if values}
        return bool(self.reporter.report(row, step=info.iteration))
