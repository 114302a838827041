"""Hugging Face Transformers: `Trainer(..., callbacks=[YardCallback()])`, with `report_to="none"`.

Reports what the Trainer logs, ends the training when the yard says stop, and saves what the Trainer has
saved as a checkpoint of the yard, too. Only the process of rank 0 reports.
"""

from __future__ import annotations

import os
import shutil
from typing import Any, Dict, Optional

import transformers

import yard
from yard.integrations import numbers_in, shared_reporter


class YardCallback(transformers.TrainerCallback):
    """
    Args:
        reporter: one's own. Default: that of the process.
        save: whether what the Trainer saves is a checkpoint of the yard, too.
    """

    def __init__(self, reporter: Optional[yard.Reporter] = None, save: bool = True) -> None:
        self._given = reporter
        self._save = save

    def on_log(self, args: Any, state: Any, control: Any, logs: Optional[Dict[str, Any]] = None,
               **kwargs: Any) -> None:
        if state.is_world_process_zero and logs:
            if not shared_reporter(self._given).report(numbers_in(logs), step=state.global_step):
                control.should_training_stop = True
                control.should_save = self._save

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        written = os.path.join(args.output_dir, "checkpoint-%d" % state.global_step)
        if self._save and state.is_world_process_zero and os.path.isdir(written):
            with shared_reporter(self._given).save(state.global_step) as directory:
                shutil.copytree(written, directory, dirs_exist_ok=True)


def checkpoint_path(reporter: Optional[yard.Reporter] = None) -> Optional[str]:
    """`trainer.train(resume_from_checkpoint=checkpoint_path())`: where the yard lets it start, or None."""
    return shared_reporter(reporter).checkpoint
