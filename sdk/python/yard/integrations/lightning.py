"""PyTorch Lightning: `Trainer(logger=YardLogger(), callbacks=[YardStop()])`.

The logger reports what modules log. It saves each checkpoint that Lightning's ModelCheckpoint writes, as
`model.ckpt` in a checkpoint of the yard. YardStop ends the training when the yard says stop. Needs
pytorch_lightning, or lightning.
"""

from __future__ import annotations

import os
import shutil
from typing import Any, Dict, Optional

try:
    from pytorch_lightning import Callback
    from pytorch_lightning.loggers.logger import Logger
    from pytorch_lightning.utilities.rank_zero import rank_zero_only
except ImportError:
    from lightning.pytorch import Callback
    from lightning.pytorch.loggers.logger import Logger
    from lightning.pytorch.utilities.rank_zero import rank_zero_only

import yard
from yard.integrations import numbers_in, shared_reporter


class YardLogger(Logger):
    """`hyperparams` are what Lightning was told; the yard has those of the trial: `--config`."""

    def __init__(self, reporter: Optional[yard.Reporter] = None) -> None:
        super().__init__()
        self.reporter = shared_reporter(reporter)
        self.stopped = False  # The yard has said so.
        self.trainer: Any = None  # Its training then ends.
        self.hyperparams: Dict[str, Any] = {}
        self._saved: Dict[str, float] = {}  # When each file that was saved was written.

    name = "yard"
    version = os.environ.get("YARD_TRIAL_ID", "")

    @property
    def save_dir(self) -> Optional[str]:
        return os.environ.get("YARD_LOGDIR")

    @rank_zero_only
    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        self.hyperparams.update(params if isinstance(params, dict) else vars(params))

    @rank_zero_only
    def log_metrics(self, metrics: Dict[str, float], step: Optional[int] = None) -> None:
        self.stopped |= not self.reporter.report(numbers_in(metrics), step=step)
        if self.stopped and self.trainer is not None:
            self.trainer.should_stop = True

    @rank_zero_only
    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        path = checkpoint_callback.last_model_path or checkpoint_callback.best_model_path
        if os.path.isfile(path) and self._saved.get(path) != os.path.getmtime(path):
            self._saved[path] = os.path.getmtime(path)
            with self.reporter.save() as directory:
                shutil.copyfile(path, os.path.join(directory, "model.ckpt"))


class YardStop(Callback):
    """(Lightning tells a logger nothing of its trainer.)"""

    def setup(self, trainer: Any, *args: Any, **kwargs: Any) -> None:
        for logger in trainer.loggers:
            if isinstance(logger, YardLogger):
                logger.trainer = trainer


def checkpoint_path(reporter: Optional[yard.Reporter] = None) -> Optional[str]:
    """`trainer.fit(model, ckpt_path=checkpoint_path())`: where the yard lets it start, or None."""
    directory = shared_reporter(reporter).checkpoint
    return None if directory is None else os.path.join(directory, "model.ckpt")
