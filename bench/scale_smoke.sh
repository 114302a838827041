#!/usr/bin/env bash
# Runs scale_benchmark ($1) with a few nodes and ranks: every report is counted once, else it fails by itself; each figure is there,
# whatever it is.
set -euo pipefail
"$1" --nodes=5 --ranks=2 --seconds=4 --json | /usr/bin/python3 -c '
import json, sys
[row] = json.loads(sys.stdin.read().splitlines()[-1])
print(row)
assert row["nodes"] == 5 and row["ranks"] == 10, row
assert len(row["figures"]) == 14 and all(value >= 0 for value in row["figures"].values()), row
'
