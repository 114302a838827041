#ifndef TOOLS_YARD_AT_REMOTE_RUN_H_
#define TOOLS_YARD_AT_REMOTE_RUN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/yard/at/captured.h"
#include "tools/yard/at/ssh_connection.h"
#include "tools/yard/cli/interrupt.h"

namespace yard {

// Exit code if no yard answers: that of ssh, which no verb uses.
inline constexpr int kNoConnection = 255;

// Makes a request from this process, with the local variables that matter there: the time zone for
// times that people read and type, NO_COLOR, YARD_TRACE and YARD_VERBOSE.
RemoteRequest MakeRequest(const SshConnection& connection, std::vector<std::string> words,
                          const std::vector<std::string>& environment);

// Returns true if the verb may start programs, which need a login environment. Also true for verbs
// that this yard does not know.
bool NeedsLogin(const std::vector<std::string>& words);

// Runs a verb there with this process's streams, and returns its exit code. If all three streams
// are a terminal, the verb gets a terminal with the same size and the keys. Otherwise Ctrl-C and
// SIGTERM are forwarded as interrupts (the third ends the session here), and stdin is forwarded if
// a word is "-" or "--stdin". Returns 255, with details on stderr, if the connection broke or the
// yard was killed.
int RunThere(const SshConnection& connection, const std::vector<std::string>& words,
             const std::vector<std::string>& environment, Interrupt* interrupt);

// Runs a verb there without stdin; with `shows_stderr`, its stderr is that of this process.
absl::StatusOr<Captured> CaptureThere(const SshConnection& connection,
                                      const std::vector<std::string>& words,
                                      const CaptureOptions& options);

}  // namespace yard

#endif  // TOOLS_YARD_AT_REMOTE_RUN_H_
