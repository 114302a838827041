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

// Maintains the trash of a log directory (runtime/file/trash.h): its README says how long entries
// are kept, and entries of that age are deleted. Any thread; blocks for the disk.
class TrashKeeper {
 public:
  struct Options {
    std::string logdir;                                    // Absolute.
    absl::Duration age = absl::InfiniteDuration();         // Infinite: entries are kept for ever.
    const runtime::Clock* clock = runtime::Clock::Real();  // Must outlive the TrashKeeper.
  };
  explicit TrashKeeper(Options options) : options_(std::move(options)) {}

  // Writes the README and deletes old entries, if a trash exists. Calls `is_cancelled` before each
  // deletion.
  absl::Status Tidy(const std::function<bool()>& is_cancelled) const;

  // Returns the entries that were moved to the trash before that time, the most recent first.
  absl::StatusOr<std::vector<runtime::TrashEntry>> List(absl::Time before) const;
  // Returns the entry of that name, or the most recent entry of the run of that name. NotFound
  // names the nearest name.
  absl::StatusOr<runtime::TrashEntry> Find(const std::string& entry) const;
  // Returns when an entry will be deleted; infinite future: never.
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
