#ifndef DATAMANAGER_CATALOG_TRASH_KEEPER_H_
#define DATAMANAGER_CATALOG_TRASH_KEEPER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/file/trash.h"

namespace datamanager {

// Keeps the trash of a log directory (runtime/file/trash.h): says in its README how long what is
// there stays, and deletes what has stayed that long. Any thread; blocks for the disk.
class TrashKeeper {
 public:
  struct Options {
    std::string logdir;                             // Absolute.
    absl::Duration age = absl::InfiniteDuration();  // Infinite: what is there stays for ever.
    const runtime::Clock* clock = runtime::Clock::Real();  // Outlives it.
  };
  explicit TrashKeeper(Options options) : options_(std::move(options)) {}

  // Does both, if there is a trash. `is_cancelled` is asked before each deletion.
  absl::Status Tidy(const std::function<bool()>& is_cancelled) const;

  // Lists the entries that were moved there before that time; the last one of them comes first.
  absl::StatusOr<std::vector<runtime::TrashEntry>> List(absl::Time before) const;
  // The entry of that name, or the one that was moved last of those that were that run. NotFound
  // names the nearest.
  absl::StatusOr<runtime::TrashEntry> Find(const std::string& entry) const;
  // When an entry is deleted; infinite future: never.
  absl::Time DeletedAt(const runtime::TrashEntry& entry) const {
    return entry.moved + options_.age;
  }
  std::string directory() const { return options_.logdir + "/.trash"; }

 private:
  absl::Status SayHowLong() const;

  const Options options_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_TRASH_KEEPER_H_
