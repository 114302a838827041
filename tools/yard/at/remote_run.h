#ifndef TOOLS_YARD_AT_REMOTE_RUN_H_
#define TOOLS_YARD_AT_REMOTE_RUN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/yard/at/captured.h"
#include "tools/yard/at/connection.h"
#include "tools/yard/cli/interrupt.h"

namespace yard {

// Exit code when there is no answer of a yard: ssh's own, which no verb has.
inline constexpr int kNoConnection = 255;

// A request of this process: who it is for, and the variables of here that count there: the zone of
// the times that a person reads and types, NO_COLOR, YARD_TRACE, YARD_VERBOSE.
Request MakeRequest(const Connection& connection, std::vector<std::string> words,
                    const std::vector<std::string>& environment);

// True if programs may get the environment of the verb, so that it needs that of a login. A verb
// that this yard does not know is one.
bool NeedsLogin(const std::vector<std::string>& words);

// Runs a verb there with the streams of this process, and returns its exit code. Where all three
// are a terminal it has one there, with its size and keys. Otherwise Ctrl-C and SIGTERM here are an
// interrupt there, and stdin goes along if a word is "-" or "--stdin". A third one ends it here.
// 255, and stderr says more: the connection broke, or the yard there was killed.
int RunThere(const Connection& connection, const std::vector<std::string>& words,
             const std::vector<std::string>& environment, Interrupt* interrupt);

// Runs a verb there without a stdin; its stderr is that of this process if `shows_stderr`.
absl::StatusOr<Captured> CaptureThere(const Connection& connection,
                                      const std::vector<std::string>& words,
                                      const CaptureOptions& options);

}  // namespace yard

#endif  // TOOLS_YARD_AT_REMOTE_RUN_H_
