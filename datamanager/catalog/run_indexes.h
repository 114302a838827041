#ifndef DATAMANAGER_CATALOG_RUN_INDEXES_H_
#define DATAMANAGER_CATALOG_RUN_INDEXES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/index/index_file.h"
#include "datamanager/index/index_store.h"
#include "datamanager/read/run_files_reader.h"
#include "runtime/mutex.h"

namespace datamanager {

// Manages the indexes of all runs: which are used, which are invalid, and which must be written. An
// invalid index is deleted, logged and counted, and its run is read instead. Any thread may call
// any method.
class RunIndexes {
 public:
  struct Stats {
    std::uint64_t used = 0;          // Number of times that a run continued from its index.
    std::uint64_t refused = 0;       // Damaged, of another version or owner, or of changed files;
    std::uint64_t rebuilt = 0;       // of those, written again.
    std::uint64_t written = 0;       // New, grown and rebuilt ones.
    std::uint64_t failed = 0;        // Could not be written.
    std::uint64_t spared_bytes = 0;  // Bytes of event files that were not read thanks to an index.
    IndexStore::Stats store;
  };
  enum class Which {
    kDue,      // Runs without an index, or grown by an eighth and 1 MiB since.
    kChanged,  // All runs that have grown; for the end of the process.
  };
  // Calls `use` with the run's reader while nobody changes it. Returns false if the run does not
  // exist.
  using WithReader = std::function<bool(const std::string& run,
                                        const std::function<void(const RunFilesReader&)>& use)>;

  explicit RunIndexes(std::unique_ptr<IndexStore> store) : store_(std::move(store)) {}

  // Returns null if the run has no valid index. Blocks on the disk.
  std::optional<IndexReader> Read(const ListedRun& run, IndexPart part);
  // True if the index has exactly the points that were read of the run.
  bool HasPointsOf(const RunFilesReader& reader) const;
  // Reports that the index was read and is invalid.
  void Refuse(const ListedRun& run, const absl::Status& why);
  // Reports the end of a reading step. Does not block unless an index is refused.
  void Stepped(const RunFilesReader& reader, const RunFilesReader::Step& step);
  // Reports that the run was removed, or will be read again from the start.
  void Forget(const ListedRun& run);
  // Removes the indexes of all other runs.
  void KeepOnly(const std::set<std::string>& run_directories) { store_->KeepOnly(run_directories); }

  // Writes indexes one after the other until `go_on` returns false. Blocks; a second concurrent
  // Write() of due indexes does nothing. Locks a run for some 4 MiB of its index at a time.
  void Write(Which which, const WithReader& with_reader, const std::function<bool()>& go_on);

  Stats GetStats() const;

 private:
  // The extent of the data in an index.
  // Two extents are equal if the index need not be written again.
  struct Extent {
    std::uint64_t generation = 0;
    std::uint64_t bytes = 0;  // Bytes of the run's files.
    bool with_points = false;

    bool operator==(const Extent&) const = default;
  };
  struct Made;

  static Extent ExtentOf(const RunFilesReader& reader);
  // Returns null if the run changes meanwhile; it is then due again after the next read.
  std::unique_ptr<Made> Make(const std::string& run, const WithReader& with_reader);
  void WriteOne(const std::string& run, const WithReader& with_reader);

  const std::unique_ptr<IndexStore> store_;
  std::atomic<bool> writing_due_ = false;
  mutable runtime::Mutex mutex_;
  Stats stats_ ABSL_GUARDED_BY(mutex_);
  // By run.
  std::map<std::string, Extent> extents_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> refused_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> due_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> changed_ ABSL_GUARDED_BY(mutex_);  // Runs that have grown, including the
                                                           // due ones.
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_RUN_INDEXES_H_
