#!/usr/bin/env bash
# Runs page_benchmark ($1) for a moment, in a browser if there is one: each figure is there, whatever it is.
set -euo pipefail
"$1" --rounds=1 --runs=20 --points=2000 --table=200 --seconds=3 --json | /usr/bin/python3 -c '
import json, os, sys
figures = json.loads(sys.stdin.read().splitlines()[-1])["figures"]
print(figures)
least = 9 if os.path.exists("/usr/bin/chromium") else 4
assert len(figures) >= least and all(value > 0 for value in figures.values()), figures
'
