#ifndef RUNTIME_SQLITE_RESTORED_STATE_H_
#define RUNTIME_SQLITE_RESTORED_STATE_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace runtime {

// The file `restored` of a state directory. It records that a backup was restored there, and which
// of the backup's directories have moved. `yard backup --restore` writes it; each service updates
// the paths in its own database once, when it opens it next.
struct RestoredState {
  static constexpr std::string_view kFile = "restored";

  std::string id;                                          // Unique to each restoration.
  std::vector<std::pair<std::string, std::string>> moved;  // Directories: old path, new path.

  // Returns the present path of `path`: replaces the first directory of `moved` that is or contains
  // it.
  std::string Moved(const std::string& path) const;
  std::string Encode() const;
  // Returns DataLoss if `text` was not written by Encode().
  static absl::StatusOr<RestoredState> Decode(std::string_view text);
  // Returns null if the state directory has no such file.
  static absl::StatusOr<std::optional<RestoredState>> Read(const std::string& state_directory);
};

// Calls `apply` if a backup was restored to the database's directory since the last call for that
// database. Runs in a transaction, which also records the call, so that a killed process leaves the
// database as it was. SQLite's failures are its exceptions.
absl::Status ApplyRestored(SQLite::Database& database,
                           const std::function<void(const RestoredState&)>& apply);

}  // namespace runtime

#endif  // RUNTIME_SQLITE_RESTORED_STATE_H_
