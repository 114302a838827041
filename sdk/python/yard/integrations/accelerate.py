"""Hugging Face Accelerate: `Accelerator(log_with=YardTracker())`, then `accelerator.log(values, step=n)`.

Reports what is logged. `tracker.stopped` is True once the yard has said stop; the loop is the program's,
so it has to look: `accelerator.get_tracker("yard").stopped`. Only the main process reports.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from accelerate.tracking import GeneralTracker, on_main_process

import yard
from yard.integrations import numbers_in, shared_reporter


class YardTracker(GeneralTracker):

    name = "yard"
    requires_logging_directory = False
    main_process_only = True

    def __init__(self, reporter: Optional[yard.Reporter] = None) -> None:
        super().__init__()
        self._given = reporter
        self.stopped = False
        self.init_configuration: Dict[str, Any] = {}

    @property
    def tracker(self) -> yard.Reporter:
        return shared_reporter(self._given)

    def start(self) -> None:
        """Later versions of Accelerate call this; the reporter is made when it is first needed."""

    @on_main_process
    def store_init_configuration(self, values: Dict[str, Any]) -> None:
        """Kept here; what the yard knows of the configuration is `yard run --config`."""
        self.init_configuration = dict(values)

    @on_main_process
    def log(self, values: Dict[str, Any], step: Optional[int] = None, **kwargs: Any) -> None:
        self.stopped |= not self.tracker.report(numbers_in(values), step=step)
