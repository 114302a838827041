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

# build OPTION-OR-TARGET...: builds quietly; when that fails, shows the errors and stops. With
# REFILL_CACHE=1 each output that Bazel's disk cache has lost gets there again, also when Bazel has
# nothing to build.
build() {
  local log options=()
  log="$(mktemp -t trainyard-build.XXXXXX)"
  if [[ -n "${REFILL_CACHE:-}" ]]; then
    # A server that runs remembers what it has built, and asks no cache.
    /usr/bin/bazel shutdown >"$log" 2>&1 </dev/null || die "cannot stop Bazel's server; see $log"
    options=(--nouse_action_cache)
  fi
  if ! /usr/bin/bazel build --color=no --curses=no "${options[@]}" "$@" >"$log" 2>&1 </dev/null; then
    grep -E -A 6 '^ERROR|^FATAL|: error:' "$log" | tail -n 40 >&2
    die "the build failed. The whole log: $log"
  fi
  rm -f "$log"
}

# outputs EXPRESSION TARGET...: what a Starlark expression says about each built target, one line a
# file, as an absolute path.
outputs() {
  local expression="$1" execution_root
  shift
  execution_root="$(/usr/bin/bazel info execution_root 2>/dev/null)"
  /usr/bin/bazel cquery --output=starlark --starlark:expr="$expression" "set($*)" 2>/dev/null |
    sed -n "s|^bazel-out/|$execution_root/bazel-out/|p"
}
