#include "tools/yard/at/remote_command.h"

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"
#include "tools/yard/at/words.h"

namespace yard {
namespace {

// Prefix of each line that our script prints.
constexpr std::string_view kMark = "yard-at ";
constexpr std::string_view kNone = "none", kOld = "old ";
// Stands for an empty word, which a shell would need quotes for.
constexpr std::string_view kNothing = "-";

// Runs a script in a login shell, if the account's shell accepts -l with -c. That shell runs $1,
// which hands over to the script $2 in sh, which uses the word $3. Until then, stdout is redirected
// away from the output of startup files.
constexpr std::string_view kByLogin =
    R"sh(YARD_AT_STEP=$2; YARD_AT_WORD=$3; export YARD_AT_STEP YARD_AT_WORD; exec 3>&1 >/dev/null; )sh"
    R"sh(case $SHELL in */bash|*/dash|*/sh|*/ksh|*/mksh|*/zsh|*/fish) exec "$SHELL" -l -c "$1";; esac; )sh"
    R"sh(exec sh -c "$2")sh";
constexpr std::string_view kHandOver = R"sh(exec sh -c "$YARD_AT_STEP")sh";
constexpr std::string_view kBegin =
    R"sh(exec >&3 3>&-; w=$YARD_AT_WORD; unset YARD_AT_STEP YARD_AT_WORD; )sh";
constexpr std::string_view kFindAndGreet =
    R"sh(if [ "$w" = - ]; then p=$(command -v yard) || p=; )sh"
    R"sh(for c in "$HOME/.local/bin/yard" /usr/local/bin/yard /usr/bin/yard; do )sh"
    R"sh([ -z "$p" ] && [ -x "$c" ] && p=$c; done; )sh"
    R"sh(else p=$w; case $w in "~/"*) p=$HOME/${w#"~/"};; esac; [ -x "$p" ] || p=; fi; )sh"
    R"sh(if [ -z "$p" ]; then echo "yard-at none"; exit 0; fi; )sh"
    R"sh("$p" --over_ssh greet 2>/dev/null || echo "yard-at old $p: $("$p" --version 2>&1 | head -n 1)")sh";

std::string InSingleQuotes(std::string_view script) {
  return absl::StrCat("'", runtime::Absl(script), "'");
}

// Returns a command that runs `step` in sh within a login shell; `step` finds `word` in $w.
std::string ByLogin(std::string_view step, std::string_view word) {
  return absl::StrCat("exec sh -c ", InSingleQuotes(kByLogin), " sh ", InSingleQuotes(kHandOver),
                      " '", runtime::Absl(kBegin), runtime::Absl(step), "' ", "'",
                      runtime::Absl(word), "'");
}

// Removes the words up to the first empty one, and that too. Returns them without the empty one.
std::vector<std::string> TakePart(std::vector<std::string>& words) {
  std::vector<std::string> part;
  std::size_t count = 0;
  while (count < words.size() && !words[count].empty()) ++count;
  part.assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
  if (count < words.size()) ++count;
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
  return part;
}

}  // namespace

std::string GreetingLine(const Greeting& greeting) {
  std::vector<std::string> words = {greeting.version, greeting.program};
  words.insert(words.end(), greeting.locations.begin(), greeting.locations.end());
  return absl::StrCat(runtime::Absl(kMark), kProtocol, " ", EncodeWords(words), "\n");
}

GreetingAnswer ReadGreeting(std::string_view output) {
  GreetingAnswer answer;
  const std::size_t newline = output.rfind(absl::StrCat("\n", runtime::Absl(kMark)));
  const bool is_first = newline == std::string_view::npos && output.starts_with(kMark);
  answer.noise = output.substr(0, is_first ? 0 : newline);
  if (!is_first && newline == std::string_view::npos) return answer;
  std::string_view line = output.substr((is_first ? 0 : newline + 1) + kMark.size());
  line = line.substr(0, line.find('\n'));
  if (line == kNone) {
    answer.kind = GreetingAnswer::Kind::kNoProgram;
    return answer;
  }
  if (line.starts_with(kOld)) {
    answer.text = line.substr(kOld.size());
    return answer;
  }
  const std::size_t space = line.find(' ');
  int protocol = 0;
  if (!absl::SimpleAtoi(runtime::Absl(line.substr(0, space)), &protocol)) return answer;
  if (protocol != kProtocol) {
    answer.kind = GreetingAnswer::Kind::kOtherProtocol;
    answer.text = std::to_string(protocol);
    return answer;
  }
  auto words = DecodeWords(space == std::string_view::npos ? "" : line.substr(space + 1));
  if (!words.ok() || words->size() < 2) return answer;
  answer.kind = GreetingAnswer::Kind::kGreeting;
  answer.greeting = {.version = (*words)[0],
                     .program = (*words)[1],
                     .locations = {words->begin() + 2, words->end()}};
  return answer;
}

std::string GreetCommand(const std::string& program) {
  return ByLogin(kFindAndGreet, program.empty() ? kNothing : std::string_view(program));
}

std::string RequestWord(const RemoteRequest& request) {
  std::vector<std::string> words = {request.in_terminal ? "terminal" : "frames"};
  words.insert(words.end(), request.locations.begin(), request.locations.end());
  words.emplace_back();
  words.insert(words.end(), request.personal.begin(), request.personal.end());
  words.emplace_back();
  words.insert(words.end(), request.words.begin(), request.words.end());
  return EncodeWords(words);
}

absl::StatusOr<RemoteRequest> ReadRequest(std::string_view word) {
  auto words = DecodeWords(word);
  if (!words.ok()) return words.status();
  if (words->empty()) return absl::InvalidArgumentError("these are not the words of a yard");
  RemoteRequest request = {.in_terminal = words->front() == "terminal"};
  words->erase(words->begin());
  request.locations = TakePart(*words);
  request.personal = TakePart(*words);
  request.words = *std::move(words);
  return request;
}

absl::StatusOr<std::string> RunCommand(const Greeting& greeting, const RemoteRequest& request,
                                       bool by_login) {
  const std::string start = absl::StrCat("exec ", greeting.program, " ", runtime::Absl(kOverSsh),
                                         " ", runtime::Absl(kRun), " ");
  const std::string word = RequestWord(request);
  std::string command =
      by_login ? ByLogin(absl::StrCat(start, "\"$w\""), word) : absl::StrCat(start, word);
  if (command.size() > kMaxCommandBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("these words are too long for ssh: ", command.size(), " bytes, and ",
                     kMaxCommandBytes, " is the most; next: put them into a file"));
  }
  return command;
}

std::string HoldCommand(const Greeting& greeting) {
  return absl::StrCat("exec ", greeting.program, " ", runtime::Absl(kOverSsh), " ",
                      runtime::Absl(kHold));
}

}  // namespace yard
