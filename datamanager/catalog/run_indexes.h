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

// The indexes of all runs: which are taken, which are of no use, and which have to be written. An
// index that is of no use is removed, logged and counted, and its run is read. Any thread may call
// any method.
class RunIndexes {
 public:
  struct Stats {
    std::uint64_t used = 0;     // Times that a run went on from its own.
    std::uint64_t refused = 0;  // Damaged, of another version or owner, or of files that changed;
    std::uint64_t rebuilt = 0;  // of those, written anew.
    std::uint64_t written = 0;  // New, grown and rebuilt ones.
    std::uint64_t failed = 0;   // That could not be written.
    std::uint64_t spared_bytes = 0;  // Bytes of event files that were not read because an index was
                                     // used.
    IndexStore::Stats store;
  };
  enum class Which {
    kDue,      // Indexes of runs without one, or that have grown by an eighth and 1 MiB since.
    kChanged,  // Indexes of all runs that have grown: the process ends.
  };
  // Calls `use` with what was read of the run, while nobody changes it. False: there is no such
  // run.
  using WithReader = std::function<bool(const std::string& run,
                                        const std::function<void(const RunFilesReader&)>& use)>;

  explicit RunIndexes(std::unique_ptr<IndexStore> store) : store_(std::move(store)) {}

  // Nothing if the run has no index, or none of any use. Blocks on the disk.
  std::optional<IndexReader> Read(const ListedRun& run, IndexPart part);
  // Whether it has the points of all that was read of the run, and of no more.
  bool HasPointsOf(const RunFilesReader& reader) const;
  // It was read and is of no use.
  void Refuse(const ListedRun& run, const absl::Status& why);
  // A step of reading the run has ended. Does not block unless an index is refused.
  void Stepped(const RunFilesReader& reader, const RunFilesReader::Step& step);
  // The run is gone, or is to be read anew.
  void Forget(const ListedRun& run);
  // There are no runs but these.
  void KeepOnly(const std::set<std::string>& run_directories) { store_->KeepOnly(run_directories); }

  // Writes them one after the other as long as `go_on` says so. Blocks; of two that are to write
  // what is due, the second does nothing. A run is held for some 4 MiB of its index at a time.
  void Write(Which which, const WithReader& with_reader, const std::function<bool()>& go_on);

  Stats GetStats() const;

 private:
  // The extent of the data that an index holds.
  struct Extent {
    std::uint64_t generation = 0;
    std::uint64_t bytes = 0;  // Bytes of the run's files.
    bool with_points = false;

    bool operator==(const Extent&) const = default;
  };
  struct Made;

  static Extent ExtentOf(const RunFilesReader& reader);
  // Null if it changes while it is made; then it is due again as soon as it was read.
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
  std::set<std::string> changed_ ABSL_GUARDED_BY(mutex_);  // Runs that have grown, the due ones
                                                           // too.
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_RUN_INDEXES_H_
