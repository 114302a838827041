#!/bin/sh
# Shows an alert on the desktop: yard up --notify "$PWD/desktop.sh"
set -eu
alert=$(cat)
field() { printf '%s' "$alert" | jq -r "$1"; }
urgency=normal
[ "$(field .kind)" = trial_failed ] && urgency=critical
exec notify-send --app-name=Trainyard --urgency="$urgency" -- "$(field '"\(.kind): \(.name)"')" "$(field .reason)"
