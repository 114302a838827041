#!/usr/bin/env bash
# Runs multi_process_runner_benchmark ($1) for a moment: every figure of ours is there, and no line is
# missing, else it fails by itself.
set -euo pipefail
"$1" --rounds=1 --lines=1000 --only=ours --json | /usr/bin/python3 -c '
import json, sys
figures = json.load(sys.stdin)["figures"]
assert figures, figures
for figure in figures:
    assert figure.get("ours", 0) > 0 or "tools/peers" in figure.get("missing", ""), figure
'
