"""What a test needs that nobody has to have: whoever has it names it by a variable (docs/build.md)."""

import os
import unittest


def folder(variable, what):
    """The folder that `variable` names. Without it the case, or the class, is not run, which `tools/test` says."""
    path = os.environ.get(variable)
    if not path:
        # (tools/checks/build_events.py knows these first words.)
        raise unittest.SkipTest("not run: %s is not set: it names %s" % (variable, what))
    if not os.path.isdir(path):
        raise AssertionError("%s is %s, which is no folder: it names %s" % (variable, path, what))
    return path
