#!/usr/bin/env bash
# Runs tuning_benchmark ($1) for a moment: every figure is there.
set -euo pipefail
"$1" --rounds=1 --only=verdict > /dev/null
"$1" --rounds=1 --seeds=1 --gp_seeds=1 --only=branin --json | /usr/bin/python3 -c '
import json, sys
figures = json.load(sys.stdin)["figures"]
assert len(figures) >= 20, figures
assert all(figure["ours"] > 0 for figure in figures), figures
'
