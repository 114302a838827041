#!/usr/bin/env bash
# Runs registry_benchmark ($1) for a moment: every figure of ours is there.
set -euo pipefail
"$1" --rounds=1 --files=20 --json | /usr/bin/python3 -c '
import json, sys
figures = json.load(sys.stdin)["figures"]
assert len(figures) == 4, len(figures)
for figure in figures:
    assert figure.get("ours", 0) > 0 or "tools/peers" in figure.get("missing", ""), figure
'
