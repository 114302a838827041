#ifndef DATAMANAGER_INDEX_INDEX_STORE_H_
#define DATAMANAGER_INDEX_INDEX_STORE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datamanager/index/index_file.h"
#include "runtime/mutex.h"

namespace datamanager {

// The indexes of runs in one directory, within a budget: those of the runs that were updated last.
// A file is written beside its place and renamed; its time of change is when its run was updated,
// so that a later process knows it too. Any other file in the directory that is called as an index
// or a part of one, and is of no known run, is removed.
//
// Any thread may call any method. All block on the disk; none for another's reading or writing.
class IndexStore {
 public:
  struct Options {
    std::string directory;
    std::uint64_t byte_budget = 0;  // 0: what is there is removed, and nothing is kept.
  };
  struct Stats {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
    std::uint64_t dropped = 0;  // For want of room.
  };

  // Makes the directory, open to its owner alone. PermissionDenied if it is open to others or
  // belongs to somebody else; the errors of the file system.
  static absl::StatusOr<std::unique_ptr<IndexStore>> Open(Options options);

  // As ReadIndex() does.
  absl::StatusOr<IndexReader> Read(std::string_view run_directory, IndexPart part) const;
  // Microseconds since 1970. ResourceExhausted if there is no room for it beside those of newer
  // runs, or on the disk.
  absl::Status Write(std::string_view run_directory, std::int64_t update_us, IndexWriter writer);
  // Does nothing if the directory is of no run, or of a run that has no index.
  void Remove(std::string_view run_directory);
  // Removes what is of none of these runs.
  void KeepOnly(const std::set<std::string>& run_directories);

  Stats GetStats() const;

 private:
  struct Entry {
    std::int64_t update_us = 0;
    std::uint64_t bytes = 0;
  };
  using Entries = std::map<std::string, Entry>;

  explicit IndexStore(Options options) : options_(std::move(options)) {}

  absl::Status List();
  std::string PathOf(std::string_view name) const;
  void Add(const std::string& name, const Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Erase(Entries::iterator it) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes what is older than `newest`, the oldest first, until so many bytes have room; false,
  // and nothing is removed, if they would not have it then.
  bool MakeRoom(std::uint64_t bytes, std::int64_t newest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  mutable runtime::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);                                        // By file name.
  std::set<std::pair<std::int64_t, std::string>> by_age_ ABSL_GUARDED_BY(mutex_);  // The same.
  std::uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace datamanager

#endif  // DATAMANAGER_INDEX_INDEX_STORE_H_
