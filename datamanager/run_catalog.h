#ifndef DATAMANAGER_RUN_CATALOG_H_
#define DATAMANAGER_RUN_CATALOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "datamanager/columns.h"
#include "datamanager/run_finder.h"
#include "datamanager/run_loader.h"
#include "datamanager/scalar_series.h"
#include "runtime/mutex.h"

namespace datamanager {

// All runs below one directory. Any thread may call any method; they may block on files.
//
// Re-imagines MindInsight's data manager: every run is listed, and the points of the most
// recently used ones are kept within a byte budget. A run that was dropped is read again when
// it is asked for.
class RunCatalog {
 public:
  // New points of one tag, in file order; `first` points of it came before them. Runs while the
  // run is locked, so calls for one tag come in order, and the points can be read by everybody else
  // when it returns (not from within it).
  using OnPoints = std::function<void(const std::string& run, const std::string& tag,
                                      std::uint64_t first, const std::vector<Point>& points)>;
  struct Options {
    std::string root;
    std::size_t byte_budget = std::size_t{1} << 30;  // For points.
    // Called once for each point that was written after the first Scan(), whatever is read anew
    // meanwhile: each call goes on where the last one of the tag ended. But a tag that has fewer
    // points than before (a file was replaced or cut short, or is gone), or whose run was gone,
    // begins again at 0. May be empty.
    OnPoints on_points;
  };
  struct RunInfo {
    std::string name;
    RunFiles files;
    std::size_t tags = 0;
    std::uint64_t points = 0;
    std::int64_t last_step = 0;
    std::uint64_t bad_records = 0;
  };
  struct TagInfo {
    std::string name;
    std::string plugin;
    SeriesSummary summary;
  };
  struct Series {
    std::string run;
    std::string tag;
    std::uint64_t total_points = 0;
    std::vector<Point> points;  // When `columns` was 0.
    std::vector<Column> columns;
  };
  // Some points of a tag, in file order.
  struct Stretch {
    std::string run;
    std::string tag;
    std::uint64_t first = 0;  // So many points of the tag come before them.
    std::vector<Point> points;
    bool restored = false;  // The run had to be read again for them.
    bool on_disk = false;   // There are some, but it would have to.
  };
  struct Stats {
    std::uint64_t runs = 0, bytes = 0, dropped = 0, records = 0, bad_records = 0;
  };

  explicit RunCatalog(Options options);

  // Finds runs anew and reads what is new in all of them. Returns every directory that was looked
  // into, to be watched. A root that does not exist (yet) has no runs; its own path is returned.
  std::vector<std::string> Scan();
  // Reads what is new in the run of this directory. False if it is not a known run.
  bool Refresh(const std::string& directory);

  // Newest first.
  std::vector<RunInfo> Runs() const;
  // `run` is a name or a unique prefix of one. NotFound, or FailedPrecondition naming the
  // matches.
  absl::StatusOr<RunInfo> FindRun(std::string_view run) const;
  absl::StatusOr<std::vector<TagInfo>> Tags(std::string_view run);
  // Steps are inclusive. NotFound names the tags there are.
  absl::StatusOr<Series> Scalars(std::string_view run, std::string_view tag, std::size_t columns,
                                 std::int64_t first_step, std::int64_t last_step);
  // The topics `m/RUN/TAG/` that begin with `prefix` and come after `after`, in their order, and
  // how many points each has, until `visit` returns false. Reads no files. `visit` runs while the
  // run is locked.
  void VisitTopics(
      std::string_view prefix, std::string_view after,
      const std::function<bool(const std::string& topic, std::uint64_t points)>& visit) const;
  // At most `limit` points of the tag with this topic behind the first `first`. None if there are
  // none, or no such topic, or the run was dropped and `may_restore` is false.
  Stretch PointsAfter(std::string_view topic, std::uint64_t first, std::size_t limit,
                      bool may_restore = true);
  // The first Scan() is over: what there was before is known.
  bool scanned() const;
  Stats GetStats() const;
  const std::string& root() const { return options_.root; }

 private:
  struct Entry {
    explicit Entry(FoundRun found) : loader(std::move(found)) {}
    // Held while the run's files are read; `mutex_` is never taken under it for long.
    runtime::Mutex mutex;
    RunLoader loader ABSL_GUARDED_BY(mutex);
    std::uint64_t last_use = 0;  // Guarded by the catalog's mutex_.
    std::size_t bytes = 0;       // Guarded by the catalog's mutex_.
  };
  using EntryPtr = std::shared_ptr<Entry>;

  absl::StatusOr<EntryPtr> Find(std::string_view run) const;
  // Reads what is new; announces it if `announce`.
  void Load(const EntryPtr& entry, bool announce);
  void Announce(RunLoader& loader, const RunLoader::NewPoints& points) const;
  void KeepWithinBudget(const EntryPtr& just_used);
  // The first run whose level is not before `level`, with its level; null if there is none.
  std::pair<std::string, EntryPtr> RunFromLevel(std::string_view level) const;
  static RunInfo Describe(Entry& entry);
  // Marks the run as used, and reads its points again if they were dropped. `read` runs under the
  // run's lock.
  void Use(const EntryPtr& entry, const std::function<void(RunLoader&)>& read);
  std::vector<EntryPtr> Entries() const;

  const Options options_;
  mutable runtime::Mutex mutex_;  // Taken before or without an Entry's mutex, never inside it.
  std::map<std::string, EntryPtr, std::less<>> runs_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> run_of_directory_ ABSL_GUARDED_BY(mutex_);
  // The same runs by their level in topics, "exp-1/", which is also the order of topics.
  std::map<std::string, EntryPtr, std::less<>> runs_by_level_ ABSL_GUARDED_BY(mutex_);
  bool scanned_ ABSL_GUARDED_BY(mutex_) = false;
  std::uint64_t uses_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace datamanager

#endif  // DATAMANAGER_RUN_CATALOG_H_
