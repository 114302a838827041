for step in 1 2 3 4 5; do
  echo "{\"t\":\"report\",\"m\":{\"loss\":0.$((9 - step))},\"step\":$step}" >&3
  read -r reply <&3
  case $reply in *'"stop"'*) break ;; esac
done
