#ifndef TOOLS_YARD_AT_CONNECTION_H_
#define TOOLS_YARD_AT_CONNECTION_H_

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

// A connection of ssh to another machine, which is kept for commands that follow: ssh's own
// ControlMaster, in the background, with its socket in the runtime directory. It ends ten minutes
// after the last command over it. Beside the socket is a file with the greeting of the yard there,
// which is asked for anew once nobody has used it for a minute; so the first command after a pause
// finds out whether the connection still lives, and what a login there now sets. Not thread safe.
class Connection {
 public:
  struct Options {
    Place place;
    std::string directory;  // For sockets; made, 0700. Its directory must be ours too.
    std::vector<std::string>
        environment;              // "NAME=value"; $YARD_SSH is ssh with words of one's own.
    std::ostream* err = nullptr;  // Warnings. Not owned.
    // ssh may ask a person for a password, or whether a host is known.
    bool may_ask = true;
    bool is_quiet = false;  // ssh's own words go nowhere.
  };
  // Opens the connection, or takes the one that is kept. Blocks while ssh asks a person; at most
  // three minutes. ssh's own words go to stderr. Unavailable: ssh cannot connect;
  // FailedPrecondition: there is no yard that knows --at. The error names the host and the next
  // step.
  static absl::StatusOr<Connection> Open(const Options& options);
  // The connection that is kept, without asking whether it lives; nothing if none is. Does not
  // block.
  static std::optional<Connection> IfOpen(const Options& options);

  const Place& place() const { return options_.place; }
  const Greeting& greeting() const { return greeting_; }
  // The words of ssh that runs `command` there, with more `options` of ssh; empty: none is run.
  std::vector<std::string> Ssh(const std::vector<std::string>& options,
                               const std::string& command) const;
  // True if the connection takes a command within three seconds. Blocks.
  bool Answers() const;
  // The yard there is not where it was: the next command asks.
  void ForgetGreeting() const;
  // Makes the socket of the connection free for a new one.
  void Close() const;

 private:
  explicit Connection(const Options& options);
  absl::Status Prepare() const;
  // True if the socket of a connection is there, of a dead one too.
  bool IsKept() const;
  std::optional<Greeting> KnownGreeting(absl::Duration max_age) const;
  void Remember(const Greeting& greeting) const;
  // `is_kept`: over the connection that is there, which is known to be good if this returns OK.
  absl::Status Greet(bool is_kept);

  Options options_;
  std::vector<std::string> ssh_;
  std::string socket_, greeting_file_, lock_;
  Greeting greeting_;
};

}  // namespace yard

#endif  // TOOLS_YARD_AT_CONNECTION_H_
