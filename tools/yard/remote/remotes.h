#ifndef TOOLS_YARD_REMOTE_REMOTES_H_
#define TOOLS_YARD_REMOTE_REMOTES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/access/access_file.h"

namespace yard {

// A yard elsewhere that `yard --at NAME` reaches by its gate.
struct Remote {
  std::string name = {};
  std::string path = {};  // Its access file, for YARD_REGISTRY=gate:PATH.
  bus::AccessFile access = {};
};

// The remotes of this user, and the one key by which they know this machine: files in
// CONFIG/trainyard/remotes (0700), `own.key` and NAME.yard-key, all 0600. Each change is one rename
// or removal. Every method may block for the disk, and every error names the path or the remote.
class Remotes {
 public:
  // $XDG_CONFIG_HOME/trainyard/remotes, else ~/.config/trainyard/remotes; of an environment that
  // names neither there are no remotes, and none can be added.
  static Remotes Of(const std::vector<std::string>& environment);
  explicit Remotes(std::string directory) : directory_(std::move(directory)) {}

  // The key of this machine, made when it is asked for the first time.
  absl::StatusOr<bus::CurvePair> OwnKey() const;
  // AlreadyExists; InvalidArgument: a name that no file can have.
  absl::Status Add(const std::string& name, const bus::AccessFile& access) const;
  // NotFound names those that there are.
  absl::StatusOr<Remote> Find(const std::string& name) const;
  absl::Status Remove(const std::string& name) const;
  // Their names, sorted.
  std::vector<std::string> Names() const;

  // InvalidArgument unless `name` has 1 to 64 of [A-Za-z0-9._-] and begins with a letter or digit.
  static absl::Status CheckName(std::string_view name);

 private:
  std::string PathOf(const std::string& name) const;
  absl::Status NoSuch(const std::string& name) const;

  std::string directory_;  // Empty: no remote can be kept.
};

}  // namespace yard

#endif  // TOOLS_YARD_REMOTE_REMOTES_H_
