#!/usr/bin/env bash
# Runs launcher_benchmark ($1) for a moment: every figure of ours is there, and all counts (tasks,
# starts, lines) are exact, else it fails by itself. A peer may be missing, if it says so.
set -euo pipefail
"$1" --rounds=1 --scale=0.01 --json | /usr/bin/python3 -c '
import json, sys
figures = json.load(sys.stdin)["figures"]
assert len(figures) >= 30, len(figures)
for figure in figures:
    if "ours" not in figure:
        assert figure["what"].startswith("supervisord") and "missing" in figure, figure
    elif figure["unit"] == "lines":
        assert figure["ours"] == 0, figure
    assert "missing" not in figure or figure["missing"].startswith("not installed: "), figure
'
