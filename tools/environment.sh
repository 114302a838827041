# Sourced by the scripts in this folder. Sets:
#   ROOT   the checkout, and the current folder
#   CACHE  where everything goes that outlives a checkout (build cache, peers, logs)
# and makes sure that HOME is set, since neither Bazel nor pip work without it.
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
CALLER_DIRECTORY="$PWD"
cd "$ROOT"

if [[ -z "${HOME:-}" ]]; then
  HOME="$(getent passwd "$(id -u)" | cut -d: -f6)"
  export HOME="${HOME:-/}"
fi
CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/trainyard"

# Prints why the script cannot go on, and stops it.
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}
