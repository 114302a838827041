"""JAX and Flax: loops of one's own.

    state, first = restored(state)
    with Loop() as loop:
        for step in range(first + 1, 1001):
            state, metrics = train_step(state, batch)
            if not loop.report(metrics, step):
                break
            loop.save(state, step)

A report fetches its numbers, which waits for the device: so only every so many steps are reported.
`save` and `restored` need Flax.
"""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Tuple

import jax

import yard
from yard.integrations import numbers_in, shared_reporter


class Loop:
    """
    Args:
        every: steps between two reports.
        save_every: steps between two checkpoints; 0, the default, saves none.
        reporter: one's own. Default: that of the process.
    """

    def __init__(self, every: int = 1, save_every: int = 0, reporter: Optional[yard.Reporter] = None) -> None:
        self.reporter = shared_reporter(reporter)
        self._every = every
        self._save_every = save_every

    def report(self, metrics: Mapping[str, Any], step: int) -> bool:
        """False if the yard says stop. In a job of several processes only the first one reports."""
        if step % self._every or jax.process_index() != 0:
            return True
        return bool(self.reporter.report(numbers_in(jax.device_get(metrics)), step=step))

    def save(self, state: Any, step: int, now: bool = False) -> None:
        """Saves any tree of arrays that Flax can write, if it is time for it (or `now`)."""
        if not now and (not self._save_every or step % self._save_every):
            return
        import flax.serialization
        with self.reporter.save(step) as directory, open(os.path.join(directory, "state.msgpack"), "wb") as file:
            file.write(flax.serialization.to_bytes({"state": state, "step": step}))

    def __enter__(self) -> Loop:
        self.reporter.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.reporter.__exit__(*error)


def restored(state: Any, reporter: Optional[yard.Reporter] = None) -> Tuple[Any, int]:
    """Returns state and step of the checkpoint to start from; without one the given state and 0."""
    directory = shared_reporter(reporter).checkpoint
    if directory is None:
        return state, 0
    import flax.serialization
    with open(os.path.join(directory, "state.msgpack"), "rb") as file:
        kept = flax.serialization.from_bytes({"state": state, "step": 0}, file.read())
    return kept["state"], int(kept["step"])
