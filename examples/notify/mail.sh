#!/bin/sh
# Mails an alert, by the sendmail of this machine: yard up --notify "MAIL_TO=me@example.org $PWD/mail.sh"
set -eu
jq -r --arg to "$MAIL_TO" '
  "To: \($to)",
  "Subject: \("\(.kind): \(.name)" | gsub("[^ -~]"; "?") | .[:100])",
  "Content-Type: text/plain; charset=utf-8",
  "",
  .reason, "", .lines[], "", "next:", (.next[] | "  " + .)' | sendmail -i -t
