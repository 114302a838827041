#ifndef TOOLS_YARD_AT_REMOTE_COMMAND_H_
#define TOOLS_YARD_AT_REMOTE_COMMAND_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yard {

// The command line between the local `yard` and the remote `yard --over_ssh`. ssh passes a command
// as one string to the account's shell, whatever shell that is. So a command consists of words
// without special characters, and of fixed scripts in single quotes without ' \ ! and newline,
// which sh, bash, zsh, fish and csh parse alike.

// First word of the remote command line, and the possible second words.
inline constexpr std::string_view kOverSsh = "--over_ssh";
inline constexpr std::string_view kGreet = "greet", kRun = "run", kHold = "hold";
// Version of this protocol. Increased when an older yard could not serve a newer one's request.
inline constexpr int kProtocol = 1;
// Longest command with which Linux starts a shell, minus our own overhead, in bytes.
inline constexpr std::size_t kMaxCommandBytes = 128'000;

// Description of the yard there, by itself.
struct Greeting {
  std::string version = {};                 // "yard 0.1"
  std::string program = {};                 // Its path there.
  std::vector<std::string> locations = {};  // "NAME=value": its directories after a login.
};
// Returns the line that `yard --over_ssh greet` prints.
std::string GreetingLine(const Greeting& greeting);

// Result of GreetCommand().
struct GreetingAnswer {
  enum class Kind { kGreeting, kNoProgram, kNoAnswer, kOtherProtocol };
  Kind kind = Kind::kNoAnswer;
  Greeting greeting = {};  // kGreeting
  // kNoAnswer: the output of the program there, which is older than --at or cannot run; empty if
  // the output is not our script's. kOtherProtocol: its version number.
  std::string text = {};
  // Output of the shell's startup files before the answer.
  std::string noise = {};
};
GreetingAnswer ReadGreeting(std::string_view output);

// Returns the command that asks the yard there for its greeting, in a login shell. Searches the
// PATH, then ~/.local/bin, /usr/local/bin and /usr/bin; with `program` (Place::program), uses only
// that.
std::string GreetCommand(const std::string& program);

// A command line to run there.
struct RemoteRequest {
  // If true, stdin and stdout are a terminal of its own there; if false, stdin carries frames
  // (frames.h).
  bool in_terminal = false;
  std::vector<std::string> locations = {};  // "NAME=value", for everything that the yard does.
  std::vector<std::string> personal = {};   // "NAME=value", for `yard` only, not its children.
  std::vector<std::string> words = {};      // Words after "yard".
};
std::string RequestWord(const RemoteRequest& request);
absl::StatusOr<RemoteRequest> ReadRequest(std::string_view word);

// Returns the command that runs a request. `by_login`: in a login shell, so that programs that the
// verb starts get its environment; discards the output of startup files. ResourceExhausted if it is
// too long.
absl::StatusOr<std::string> RunCommand(const Greeting& greeting, const RemoteRequest& request,
                                       bool by_login);

// Returns a command that exits when its stdin ends, so the session lasts as long as the connection.
std::string HoldCommand(const Greeting& greeting);

}  // namespace yard

#endif  // TOOLS_YARD_AT_REMOTE_COMMAND_H_
