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

// The indexes of runs in one directory, within a budget: those of the most recently updated runs. A
// file is written beside its final path and renamed; its modification time is its run's last
// update, so that a later process knows it too. Any other file in the directory that is named like
// an index or a part of one, and belongs to no known run, is deleted.
//
// Any thread may call any method. All block on the disk, but not on another thread's I/O.
class IndexStore {
 public:
  struct Options {
    std::string directory;
    std::uint64_t byte_budget = 0;  // 0: deletes existing indexes and keeps none.
  };
  struct Stats {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
    std::uint64_t dropped = 0;  // For lack of room.
  };

  // Creates the directory, accessible to its owner only. PermissionDenied if others may access it
  // or it belongs to another user; otherwise errors of the file system.
  static absl::StatusOr<std::unique_ptr<IndexStore>> Open(Options options);

  // See ReadIndex().
  absl::StatusOr<IndexReader> Read(std::string_view run_directory, IndexPart part) const;
  // Writes an index. `update_us`: microseconds since 1970. ResourceExhausted if the index has no
  // room beside those of newer runs, or on the disk.
  absl::Status Write(std::string_view run_directory, std::int64_t update_us, IndexWriter writer);
  // Deletes the index of a run, if it exists.
  void Remove(std::string_view run_directory);
  // Deletes the indexes of all other runs.
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
  // Deletes indexes older than `newest`, the oldest first, until `bytes` fit. Returns false, and
  // deletes nothing, if they would not fit even then.
  bool MakeRoom(std::uint64_t bytes, std::int64_t newest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  mutable runtime::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);                                        // By file name.
  std::set<std::pair<std::int64_t, std::string>> by_age_ ABSL_GUARDED_BY(mutex_);  // The same
                                                                                   // entries.
  std::uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace datamanager

#endif  // DATAMANAGER_INDEX_INDEX_STORE_H_
