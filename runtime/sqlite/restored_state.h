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

// The file `restored` of a state directory: it says that a back-up was put there, and which
// directories of the back-up have another path now. `yard backup --restore` writes it; each service
// changes the paths in its own database once, when it opens it next.
struct RestoredState {
  static constexpr std::string_view kFile = "restored";

  std::string id;                                          // Each restoration has its own.
  std::vector<std::pair<std::string, std::string>> moved;  // Directories: from, to.

  // `path` where it is now: below the first directory of `moved` that it was in, or is.
  std::string Moved(const std::string& path) const;
  std::string Encode() const;
  // DataLoss if the text is not one of Encode().
  static absl::StatusOr<RestoredState> Decode(std::string_view text);
  // Nothing if the state directory has no such file.
  static absl::StatusOr<std::optional<RestoredState>> Read(const std::string& state_directory);
};

// Calls `apply` if a back-up was put into the directory of the database since the last call for
// that database; in a transaction, which remembers that. A process that is killed meanwhile leaves
// the database as it was. Failures of SQLite are its exceptions.
absl::Status ApplyRestored(SQLite::Database& database,
                           const std::function<void(const RestoredState&)>& apply);

}  // namespace runtime

#endif  // RUNTIME_SQLITE_RESTORED_STATE_H_
