#!/bin/sh
# Tells a phone by ntfy: yard up --notify "NTFY_URL=https://ntfy.example.org NTFY_TOPIC=mine $PWD/ntfy.sh"
set -eu
jq --arg topic "$NTFY_TOPIC" '{topic: $topic, title: "\(.kind): \(.name)", message: .reason,
  priority: (if .kind == "trial_failed" then 4 else 3 end), tags: ["warning"]}' |
  curl --fail --silent --show-error --max-time 20 --header 'Content-Type: application/json' --data @- "$NTFY_URL"
