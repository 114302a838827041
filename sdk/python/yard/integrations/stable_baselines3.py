"""Stable-Baselines3: `model.learn(..., callback=YardCallback())`.

Reports what the logger of the model dumps (`rollout/ep_rew_mean`, `train/loss`) at its number of time
steps, ends the training when the yard says stop, and saves the model as `model.zip` in a checkpoint.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Optional, Tuple, Union

from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter

import yard
from yard.integrations import numbers_in, shared_reporter


class YardCallback(BaseCallback):
    """
    Args:
        reporter: one's own. Default: that of the process.
        save_every: time steps between two checkpoints; 0, the default, saves none.
    """

    def __init__(self, reporter: Optional[yard.Reporter] = None, save_every: int = 0) -> None:
        super().__init__()
        self._writer = _Writer(shared_reporter(reporter))
        self._save_every = save_every
        self._saved_at = 0

    def _on_training_start(self) -> None:
        if self._writer not in self.logger.output_formats:
            self.logger.output_formats.append(self._writer)
        self._saved_at = self.num_timesteps

    def _on_step(self) -> bool:
        if self._save_every and self.num_timesteps - self._saved_at >= self._save_every:
            self._saved_at = self.num_timesteps
            with self._writer.reporter.save(self.num_timesteps) as directory:
                self.model.save(os.path.join(directory, "model.zip"))
        return not self._writer.stopped


class _Writer(KVWriter):

    def __init__(self, reporter: yard.Reporter) -> None:
        self.reporter = reporter
        self.stopped = False

    def write(self, key_values: Dict[str, Any], key_excluded: Dict[str, Union[str, Tuple[str, ...]]],
              step: int = 0) -> None:
        row = numbers_in(key_values)
        if row:
            self.stopped |= not self.reporter.report(row, step=step)

    def close(self) -> None:
        """The reporter may be another's."""
