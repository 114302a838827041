#!/usr/bin/env bash
# Runs the example ($1): the second trial goes on where the first was saved, and what is wrong with a
# configuration is said.
set -euo pipefail
run="$(mktemp -d)"
trap 'rm -rf "$run"' EXIT
"$1" "$run" '{"target": 9}' > "$run/output"
cat "$run/output"
[[ "$(cut -d" " -f1-3 "$run/output" | head -3 | tr "\n" " ")" == \
  "first iteration 1 first iteration 2 second iteration 3 " ]]
tail -1 "$run/output" | grep -q "root 3.000000000000"
[[ -z "$(find "$run" -name 'checkpoint_tmp*')" ]]
if "$1" "$run" '{"target": "nine"}' 2> "$run/errors"; then
  echo "a text for a number was taken" >&2
  exit 1
fi
grep -q '"target" is "nine", not a number' "$run/errors"
