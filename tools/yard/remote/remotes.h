#ifndef TOOLS_YARD_REMOTE_REMOTES_H_
#define TOOLS_YARD_REMOTE_REMOTES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/access/access_file.h"

namespace yard {

// A yard on another machine that `yard --at NAME` reaches through its gate.
struct Remote {
  std::string name = {};
  std::string path = {};  // Access file, for YARD_REGISTRY=gate:PATH.
  bus::AccessFile access = {};
};

// The remotes of this user, and the one key that identifies this machine to them: files in
// CONFIG/trainyard/remotes (mode 0700), `own.key` and NAME.yard-key, all with mode 0600. Each
// change is a single rename or removal. Every method may block on the disk, and every error names
// the path or the remote.
class Remotes {
 public:
  // Uses $XDG_CONFIG_HOME/trainyard/remotes, else ~/.config/trainyard/remotes. If the environment
  // has neither variable, there are no remotes and none can be added.
  static Remotes Of(const std::vector<std::string>& environment);
  explicit Remotes(std::string directory) : directory_(std::move(directory)) {}

  // Returns the key of this machine; creates it at the first call.
  absl::StatusOr<bus::CurvePair> OwnKey() const;
  // AlreadyExists if the name is taken; InvalidArgument if it cannot be a file's name.
  absl::Status Add(const std::string& name, const bus::AccessFile& access) const;
  // NotFound lists the existing remotes.
  absl::StatusOr<Remote> Find(const std::string& name) const;
  // NotFound lists the existing remotes.
  absl::Status Remove(const std::string& name) const;
  // Returns the names, sorted.
  std::vector<std::string> Names() const;

  // InvalidArgument unless `name` has 1 to 64 of [A-Za-z0-9._-] and begins with a letter or digit.
  static absl::Status CheckName(std::string_view name);

 private:
  std::string PathOf(const std::string& name) const;
  absl::Status NoSuch(const std::string& name) const;

  std::string directory_;  // Empty if no remote can be stored.
};

}  // namespace yard

#endif  // TOOLS_YARD_REMOTE_REMOTES_H_
