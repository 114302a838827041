#!/usr/bin/env bash
# Runs datamanager_benchmark ($1) for a moment: every figure of ours is there, and all counts (runs,
# records, points) are exact, else it fails by itself. Without the readers of others, as on a machine
# that does not have them: that is said.
set -euo pipefail
YARD_PEERS=/nonexistent "$1" --rounds=1 --scale=0.01 --json | /usr/bin/python3 -c '
import json, sys
figures = json.load(sys.stdin)["figures"]
assert len(figures) == 18, len(figures)
for figure in figures:
    assert "ours" in figure, figure
    missing = {"Rust data server": "tensorboard", "TensorBoard in Python": "tensorboard",
               "new style: Rust data server": "tensorboard",
               "MindInsight": "mindinsight"}.get(figure.get("peer_name"))
    expected = missing and "not installed: tools/peers " + missing
    assert figure.get("missing") == expected, figure
'
