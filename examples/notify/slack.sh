#!/bin/sh
# Tells a channel of Slack: yard up --notify "SLACK_URL=https://hooks.example.org/... $PWD/slack.sh"
set -eu
jq '{text: ("*\(.kind)* \(.name)\n\(.reason)\n" + (.next | join("\n")) | gsub("&"; "&amp;") | gsub("<"; "&lt;") | gsub(">"; "&gt;"))}' |
  curl --fail --silent --show-error --max-time 20 --header 'Content-Type: application/json' --data @- "$SLACK_URL"
