#!/bin/sh
# Tells a channel of Discord: yard up --notify "DISCORD_URL=https://hooks.example.org/... $PWD/discord.sh"
set -eu
jq '{content: ("**\(.kind)** \(.name)\n\(.reason)\n" + (.next | join("\n")) | .[:2000]), allowed_mentions: {parse: []}}' |
  curl --fail --silent --show-error --max-time 20 --header 'Content-Type: application/json' --data @- "$DISCORD_URL"
