"""Event files of a program that knows nothing of the yard, in the directory of its trial:

    yard run -- python3 -m yard.summary_writer train.py --epochs 3

runs train.py as `python3 train.py --epochs 3` would. Where it makes a `SummaryWriter` of tensorboardX or
torch.utils.tensorboard, or a writer of tf.summary (as Keras' callback TensorBoard does), the files go to
$YARD_LOGDIR. The first directory that it names is the run's own; any other is one below it, of the same
name. A directory inside $YARD_LOGDIR stays where it is. Without $YARD_LOGDIR nothing is changed. `-m MODULE`
runs a module.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import os
import runpy
import sys
from typing import Any, Callable, Dict, List, Optional

# Module, function that makes a writer (or the class whose __init__ does), its first argument.
_WRITERS = {
    "tensorboardX.writer": ("SummaryWriter", "logdir"),
    "torch.utils.tensorboard.writer": ("SummaryWriter", "log_dir"),
    "tensorflow.python.ops.summary_ops_v2": ("create_file_writer_v2", "logdir"),
}
_places: Dict[str, str] = {}  # Where what the program names goes.


def place_of(named: Any) -> str:
    """The directory for the one that the program names; None names one, too."""
    root = os.environ["YARD_LOGDIR"]
    key = "" if named is None else os.path.abspath(os.fspath(named))
    if key == root or key.startswith(root + os.sep):
        return key
    if key not in _places:
        place = root if not _places else os.path.join(root, os.path.basename(key) or "writer")
        while place in _places.values():
            place += "_"
        _places[key] = place
    return _places[key]


def _redirect(function: Callable[..., Any], argument: str, is_method: bool) -> Callable[..., Any]:
    @functools.wraps(function)
    def redirected(*args: Any, **words: Any) -> Any:
        first = 1 if is_method else 0
        if len(args) > first:
            args = (*args[:first], place_of(args[first]), *args[first + 1:])
        else:
            words[argument] = place_of(words.get(argument))
        return function(*args, **words)
    return redirected


class _Finder(importlib.abc.MetaPathFinder):
    """Redirects a module's writers as soon as the program has imported it."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        if name not in _WRITERS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_redirect(module: Any) -> None:
                load(module)
                writer, argument = _WRITERS[name]
                made = getattr(module, writer)
                if isinstance(made, type):
                    setattr(made, "__init__", _redirect(getattr(made, "__init__"), argument, True))
                else:
                    setattr(module, writer, _redirect(made, argument, False))
            setattr(spec.loader, "exec_module", load_and_redirect)
        return spec


def main(arguments: List[str]) -> None:
    words = arguments[1:] if arguments[:1] == ["-m"] else arguments
    if not words:
        sys.exit("usage: python3 -m yard.summary_writer [-m MODULE | PROGRAM.py] [ARGUMENT...]")
    if os.environ.get("YARD_LOGDIR"):
        sys.meta_path.insert(0, _Finder())
    sys.argv = list(words)
    if words is not arguments:
        sys.path[0] = os.getcwd()
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
