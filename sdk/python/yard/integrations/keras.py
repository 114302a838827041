"""Keras: `model.fit(..., callbacks=[YardCallback()])`.

Reports what `fit` logs after each epoch, ends the training when the yard says stop, and saves the model
as `model.keras` in a checkpoint. Needs keras 3, or TensorFlow with it.
"""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional

import keras

import yard
from yard.integrations import numbers_in, shared_reporter


class YardCallback(keras.callbacks.Callback):
    """
    Args:
        reporter: one's own. Default: that of the process.
        save_every: epochs between two checkpoints; 0, the default, saves none.
    """

    def __init__(self, reporter: Optional[yard.Reporter] = None, save_every: int = 0) -> None:
        super().__init__()
        self.reporter = shared_reporter(reporter)
        self._save_every = save_every

    def on_epoch_end(self, epoch: int, logs: Optional[Mapping[str, Any]] = None) -> None:
        count = epoch + 1
        stop = not self.reporter.report(numbers_in(logs or {}), step=count)
        if self._save_every and (stop or count % self._save_every == 0):
            with self.reporter.save(count) as directory:
                self.model.save(os.path.join(directory, "model.keras"))
        if stop:
            self.model.stop_training = True


def restored(reporter: Optional[yard.Reporter] = None) -> Any:
    """The model of the checkpoint to start from, or None.

    Go on with `fit(..., initial_epoch=reporter.iteration)`.
    """
    directory = shared_reporter(reporter).checkpoint
    return None if directory is None else keras.models.load_model(os.path.join(directory, "model.keras"))
