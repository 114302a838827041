#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

// Each script calls `yard completion complete -- WORD...` (tools/yard/complete.h) and quotes the
// answers as its shell requires. On exit code 1 the shell completes paths itself.

// Bash also splits words at = and :, and expects only the part after the last of them.
constexpr std::string_view kBash =
    R"sh(# Completion of yard for bash: eval "$(yard completion bash)"
_yard() {
  local rest=${COMP_LINE:0:COMP_POINT} piece='' glued name quoted out i
  local -a words=()
  COMPREPLY=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    glued=1
    [[ $i == 0 || -z $rest || $rest == [[:space:]]* ]] && glued=
    rest=${rest#"${rest%%[![:space:]]*}"}
    piece=${COMP_WORDS[i]}
    ((i == COMP_CWORD)) && piece=$rest
    rest=${rest#"$piece"}
    if [[ $glued ]]; then words[-1]+=$piece; else words+=("$piece"); fi
  done
  # Within quotes bash completes paths.
  [[ ${words[-1]} == *[\'\"\`]* ]] && return
  compopt +o default +o bashdefault 2>/dev/null
  [[ $piece == [=:]* ]] && piece=${piece:1}
  local skip=$((${#words[-1]} - ${#piece}))
  words=("${words[@]//\\/}")
  if ! out=$(command yard completion complete -- "${words[@]:1}" 2>/dev/null </dev/null); then
    compopt -o default -o bashdefault 2>/dev/null
    return
  fi
  while IFS=$'\t' read -r name _; do
    [[ -z $name ]] && continue
    printf -v quoted %q "$name"
    COMPREPLY+=("${quoted:skip}")
  done <<<"$out"
  [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *[/=] ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o default -o bashdefault -F _yard yard
)sh";

constexpr std::string_view kZsh = R"sh(#compdef yard
# Completion of yard for zsh: eval "$(yard completion zsh)" behind compinit, or this in a file _yard
# of a folder of $fpath.
_yard() {
  local out line
  local -a names shown
  if ! out=$(command yard completion complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" \
             2>/dev/null </dev/null); then
    _files
    return
  fi
  for line in "${(@f)out}"; do
    [[ -z $line ]] && continue
    names+=("${line%%$'\t'*}")
    shown+=("${line/$'\t'/  -- }")
  done
  (( $#names )) || return 1
  if [[ $#names == 1 && $names[1] == *[/=] ]]; then
    compadd -S '' -l -d shown -a -- names
  else
    compadd -l -d shown -a -- names
  fi
}
if [[ $funcstack[1] == _yard ]]; then
  _yard "$@"
elif (( $+functions[compdef] )); then
  compdef _yard yard
fi
)sh";

constexpr std::string_view kFish = R"sh(# Completion of yard for fish: yard completion fish | source
function __yard_complete
    set -l words (commandline -opc)
    set -l current (string unescape -- (commandline -ct))
    test (count $current) -eq 0; and set current ''
    set -l out (command yard completion complete -- $words[2..-1] $current 2>/dev/null </dev/null)
    if test $status -ne 0
        __fish_complete_path (commandline -ct)
        return
    end
    test (count $out) -gt 0; and printf '%s\n' $out
    return 0
end
complete -c yard -f -a '(__yard_complete)'
)sh";

class Completion : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("shell", shell_, "bash, zsh or fish.", OptionSet::Need::kRequired);
    options.Footer(
        "For good:\n"
        "  bash: echo 'eval \"$(yard completion bash)\"' >> ~/.bashrc\n"
        "  zsh:  echo 'eval \"$(yard completion zsh)\"' >> ~/.zshrc   (behind compinit)\n"
        "  fish: yard completion fish > ~/.config/fish/completions/yard.fish");
  }

  int Run(Context& context) override {
    const std::string_view script = shell_ == "bash"   ? kBash
                                    : shell_ == "zsh"  ? kZsh
                                    : shell_ == "fish" ? kFish
                                                       : std::string_view();
    if (script.empty()) {
      return Fail(context, "completion",
                  absl::InvalidArgumentError(absl::StrCat("there is no completion for ",
                                                          runtime::Printable(shell_),
                                                          ", but for bash, zsh and fish")));
    }
    if (context.json) {
      PrintJson(context, {{"shell", shell_}, {"script", script}});
    } else {
      *context.out << script;
    }
    return kDone;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Verb> MakeCompletion() { return std::make_unique<Completion>(); }

}  // namespace yard
