#!/usr/bin/env bash
# Runs trainer_benchmark ($1) for a moment: every figure of ours is there, and all counts (trials,
# reports, in the database and in the files) are exact, else it fails by itself. Without Ray, which
# takes half a minute, as on a machine that does not have it: that is said.
set -euo pipefail
YARD_PEERS=/nonexistent "$1" --rounds=1 --scale=0.01 --queue --json | /usr/bin/python3 -c '
import json, sys
figures = json.load(sys.stdin)["figures"]
assert len(figures) == 15, len(figures)
for figure in figures:
    assert "ours" in figure, figure
    is_beside_ray = figure.get("peer_name", "").startswith("Ray")
    assert is_beside_ray == ("missing" in figure), figure
    assert not is_beside_ray or figure["missing"] == "not installed: tools/peers ray", figure
'
