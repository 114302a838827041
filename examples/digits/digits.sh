#!/bin/sh
# Softmax regression on the digits in awk: a program that reports to the yard with nothing but
# printf and read.
#
#     digits.sh [EPOCHS]
set -eu
epochs=${1:-10}
here=$(dirname "$0")
[ -e "$here/digits.csv" ] || here=$(dirname "$(readlink -f "$0")")

# Descriptor 3 is the report channel if it is the very socket that YARD_FD names.
yard=
[ "${YARD_FD-}" = "3:$(stat -Lc %i /dev/fd/3 2>/dev/null)" ] && yard=1

# Reports the metrics in $1, a JSON object, at step $2. False if told to stop.
report() {
  if [ -z "$yard" ]; then
    printf 'step %s: %s\n' "$2" "$1"
    return
  fi
  printf '{"t":"report","m":%s,"step":%s}\n' "$1" "$2" >&3
  read -r reply <&3 || { echo "the yard closed the report channel" >&2; exit 1; }
  case $reply in
    *'"FAILED_PRECONDITION"'*) yard=; report "$1" "$2" ;;  # No trial: nobody collects reports.
    *'"error"'*) echo "the yard: $reply" >&2; exit 1 ;;
    *'"stop"'*) return 1 ;;
  esac
}

# Prints the training loss and the test accuracy of each epoch. Every fifth row is for the test.
train() {
  awk -v epochs="$epochs" '
    function predict(row,   digit, i, sum, value) {
      split(row, x, ",")
      sum = 0; best = 0
      for (digit = 0; digit < 10; digit++) {
        value = bias[digit]
        for (i = 1; i <= 64; i++) value += weight[digit * 65 + i] * x[i] / 16
        p[digit] = exp(value)
        sum += p[digit]
        if (p[digit] > p[best]) best = digit
      }
      for (digit = 0; digit < 10; digit++) p[digit] /= sum
    }
    { rows[NR] = $0 }
    END {
      for (epoch = 1; epoch <= epochs; epoch++) {
        loss = right = trained = tested = 0
        for (n = 1; n <= NR; n++) {
          if (n % 5 == 0) continue
          predict(rows[n])
          loss -= log(p[x[65]] + 1e-300)
          trained++
          for (digit = 0; digit < 10; digit++) {
            step = 0.1 * ((digit == x[65]) - p[digit])
            if (step < 0.0005 && step > -0.0005) continue
            bias[digit] += step
            for (i = 1; i <= 64; i++) weight[digit * 65 + i] += step * x[i] / 16
          }
        }
        for (n = 5; n <= NR; n += 5) {
          predict(rows[n])
          tested++
          right += best == x[65]
        }
        printf "%.6f %.4f\n", loss / trained, right / tested
        fflush()
      }
    }' "$here/digits.csv"
}

train | {
  step=0
  while read -r loss accuracy; do
    step=$((step + 1))
    last=$accuracy
    report "{\"loss\":$loss,\"accuracy\":$accuracy}" "$step" || break
  done
  [ "$step" -gt 0 ] && echo "accuracy $last"
}
