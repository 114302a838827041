#ifndef TOOLS_YARD_AT_REMOTE_COMMAND_H_
#define TOOLS_YARD_AT_REMOTE_COMMAND_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yard {

// The words between `yard` here and `yard --over_ssh` there. ssh hands a command as one text to the
// shell of the user's account there, whatever shell that is. So a command is made of words without
// any character that a shell would change, and of fixed scripts in single quotes without ' \ ! and
// newline, which sh, bash, zsh, fish and csh read alike.

// First word of the other side's command line, and its second one.
inline constexpr std::string_view kOverSsh = "--over_ssh";
inline constexpr std::string_view kGreet = "greet", kRun = "run", kHold = "hold";
// Number of this protocol. It changes when an older yard could not do what a newer one asks.
inline constexpr int kProtocol = 1;
// Longest command that Linux starts a shell with, less what stands around it.
inline constexpr std::size_t kMaxCommandBytes = 128'000;

// The yard there, as it describes itself.
struct Greeting {
  std::string version = {};                 // "yard 0.1"
  std::string program = {};                 // Its path there.
  std::vector<std::string> locations = {};  // "NAME=value": where its yard is, after a login.
};
// The line with which `yard --over_ssh greet` answers.
std::string GreetingLine(const Greeting& greeting);

// The answer to GreetCommand().
struct GreetingAnswer {
  enum class Kind { kGreeting, kNoProgram, kNoAnswer, kOtherProtocol };
  Kind kind = Kind::kNoAnswer;
  Greeting greeting = {};  // kGreeting
  // kNoAnswer: what the program there says instead, which is older than --at or cannot run; empty:
  // what came is no answer of our script. kOtherProtocol: the number.
  std::string text = {};
  // Printed before the answer by a file that the shell there reads at its start.
  std::string noise = {};
};
GreetingAnswer ReadGreeting(std::string_view output);

// Asks the yard there for its greeting, in a login shell, whose PATH finds it; else it is looked
// for in
// ~/.local/bin, /usr/local/bin and /usr/bin. `program` (Place::program): only that one.
std::string GreetCommand(const std::string& program);

// A command line that runs there.
struct Request {
  // True: stdin and stdout are a terminal of its own there; false: stdin has frames (frames.h).
  bool in_terminal = false;
  std::vector<std::string> locations = {};  // "NAME=value", for all that the yard there does.
  std::vector<std::string> personal = {};  // "NAME=value", for `yard` itself: no program gets them.
  std::vector<std::string> words = {};     // After "yard".
};
std::string RequestWord(const Request& request);
absl::StatusOr<Request> ReadRequest(std::string_view word);

// Runs a request by the program there. `by_login`: in a login shell, whose environment programs get
// that the verb starts; what its start files print goes nowhere. ResourceExhausted: it is too long.
absl::StatusOr<std::string> RunCommand(const Greeting& greeting, const Request& request,
                                       bool by_login);

// Ends when its stdin ends: a session that lives as long as the connection.
std::string HoldCommand(const Greeting& greeting);

}  // namespace yard

#endif  // TOOLS_YARD_AT_REMOTE_COMMAND_H_
