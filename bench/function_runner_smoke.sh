#!/usr/bin/env bash
# Runs function_runner_benchmark ($1) for a moment: every figure is there, beside its limit, and no
# step is lost, else it fails by itself.
set -euo pipefail
"$1" --rounds=1 --seconds=0.01 --json | /usr/bin/python3 -c '
import json, sys
figures = json.load(sys.stdin)["figures"]
assert len(figures) == 2, len(figures)
for figure in figures:
    assert figure.get("ours", 0) > 0, figure
'
"$1" --rounds=1 --seconds=0.01 | grep -q "limit"
