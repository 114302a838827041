#ifndef TOOLS_YARD_AT_SSH_CONNECTION_H_
#define TOOLS_YARD_AT_SSH_CONNECTION_H_

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/yard/at/place.h"
#include "tools/yard/at/remote_command.h"

namespace yard {

// An ssh connection to another machine that is kept open for later commands: ssh's own
// ControlMaster in the background, with its socket in the runtime directory. It ends ten minutes
// after the last command. A file beside the socket caches the greeting of the yard there, and is
// refreshed when nobody has used it for a minute; so the first command after a pause notices a dead
// connection, and changes to the login environment. Not thread-safe.
class SshConnection {
 public:
  struct Options {
    Place place;
    std::string directory;  // For sockets. Created with mode 0700, in a private directory.
    std::vector<std::string>
        environment;              // "NAME=value"; $YARD_SSH overrides "ssh" and its options.
    std::ostream* err = nullptr;  // For warnings. Not owned.
    // ssh may prompt the user for a password or an unknown host key.
    bool may_ask = true;
    bool is_quiet = false;  // Discards the messages of ssh.
  };
  // Opens a connection, or reuses the kept one. Blocks for at most three minutes, while ssh
  // prompts the user. ssh's messages go to stderr. Unavailable if ssh cannot connect;
  // FailedPrecondition if there is no yard that supports --at. The error names the host and the
  // next step.
  static absl::StatusOr<SshConnection> Open(const Options& options);
  // Returns the kept connection without checking that it is alive; nothing if there is no
  // connection. Does not block.
  static std::optional<SshConnection> IfOpen(const Options& options);

  const Place& place() const { return options_.place; }
  const Greeting& greeting() const { return greeting_; }
  // Returns the command line of an ssh that runs `command` there, with additional ssh `options`. If
  // `command` is empty, ssh runs nothing.
  std::vector<std::string> Ssh(const std::vector<std::string>& options,
                               const std::string& command) const;
  // Returns true if the connection executes a command within three seconds. Blocks.
  bool Answers() const;
  // Drops the cached greeting, so that the next command asks again where the yard there is.
  void ForgetGreeting() const;
  // Closes the connection, so that its socket can be created anew.
  void Close() const;

 private:
  explicit SshConnection(const Options& options);
  absl::Status Prepare() const;
  // Returns true if a connection's socket exists; the connection may be dead.
  bool IsKept() const;
  std::optional<Greeting> KnownGreeting(absl::Duration max_age) const;
  void Remember(const Greeting& greeting) const;
  // `is_kept`: uses the kept connection, which is known to work if this returns OK.
  absl::Status Greet(bool is_kept);

  Options options_;
  std::vector<std::string> ssh_;
  std::string socket_, greeting_file_, lock_;
  Greeting greeting_;
};

}  // namespace yard

#endif  // TOOLS_YARD_AT_SSH_CONNECTION_H_
