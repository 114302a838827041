#!/usr/bin/env bash
# Runs tensorboard_benchmark ($1) for a moment: what our server shows is right, whatever the times are. Without TensorBoard it
# says what installs that.
set -euo pipefail
YARD_PEERS=/nonexistent "$1" | grep -q "not installed: tools/peers tensorboard"
[[ -x "${YARD_PEERS:-/nonexistent}/tensorboard/bin/tensorboard" ]] || exit 0
"$1" --rounds=1 --scale=0.05 --json | /usr/bin/python3 -c '
import json, sys
figures = json.load(sys.stdin)["figures"]
assert len(figures) == 22, figures
assert figures["spikes shown, %"]["ours"] == 100, figures
assert figures["150 runs: spikes shown, %"]["ours"] == 100, figures
assert figures["first points shown, %"]["ours"] == 100, figures
assert 900 < figures["points shown of each series"]["ours"] <= 1000, figures
'
