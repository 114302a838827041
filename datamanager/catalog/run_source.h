#ifndef DATAMANAGER_CATALOG_RUN_SOURCE_H_
#define DATAMANAGER_CATALOG_RUN_SOURCE_H_

// The runs, as the methods that answer queries see them. Nothing here waits for a file to be read:
// a question about data that is not read yet gets Unavailable, and WhenReady() tells the caller
// when to ask again.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/query/run_facts.h"
#include "datamanager/read/run_data.h"
#include "eventlog/open_file_bound.h"

namespace datamanager {

// Content of a BriefItem, beside BriefCache::kLineage (run_lineage.h).
inline constexpr std::string_view kTrialKey = "trial";    // RunLabels, of provenance.json.
inline constexpr std::string_view kConfigKey = "config";  // RunConfig, of params.json.
inline constexpr std::string_view kAnnotationsKey = "annotations";  // bus::Annotations.
inline constexpr std::string_view kOutcomeKey = "outcome";          // bus::RunOutcome.

// Any thread may call any method.
class RunSource {
 public:
  // How much of a run a question needs.
  enum class Need : std::uint8_t {
    kCounts,  // Its tags and their counts.
    kPoints,  // Its points, and where its other values are.
  };
  struct Request {
    std::string run;  // The whole name.
    Need need = Need::kCounts;
    bool cached_only = false;  // Nothing is read for it.
    // The part that has been read until now will do if reading has begun already.
    bool take_part = false;
    // A part of points that are being loaded will not do. (A caller that has made the load begin
    // sets this once it has waited for the load.)
    bool whole = false;
    // Nobody looks at View::state, which takes as long to find as the run itself.
    bool without_state = false;
  };
  // Valid during the call, under the run's lock.
  struct View {
    RunData& data;
    const ListedRun& listed;
    CacheState state = CacheState::kNotCached;
    bool incomplete = false;  // More is being read: of the files, or of what was counted in them.
  };
  using ReadFunction = std::function<absl::Status(const View& view)>;

  virtual ~RunSource() = default;

  // Names of all runs, sorted. Unavailable, with the progress, before the first scan has ended.
  virtual absl::StatusOr<std::vector<std::string>> Names() const = 0;
  // NotFound: there is no such run.
  virtual absl::StatusOr<std::shared_ptr<BriefItem>> Brief(const std::string& run) const = 0;
  // Calls `use`, which is quick, and returns what it does: with all that is needed, or with what
  // there is while the run's points are being loaded. A NotFound of `use` is then answered as
  // Unavailable, or FailedPrecondition with `cached_only`, because the thing may come yet. Without
  // calling it: NotFound, there is no such run; FailedPrecondition, `cached_only` and what is
  // needed is not there; Unavailable, it is being read now, because of this call if it was not
  // before; DataLoss, it cannot be read.
  virtual absl::Status Read(const Request& request, const ReadFunction& use) = 0;
  // Calls `ready` once, on any thread, when Read() of the same request may answer something else
  // than Unavailable; at once if it may now.
  virtual void WhenReady(const Request& request, std::function<void()> ready) = 0;

  // Bound for readers of values in files; null: no bound.
  virtual eventlog::OpenFileBound* open_files() const = 0;
  // Microseconds since 1970.
  virtual std::int64_t NowUs() const = 0;
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_RUN_SOURCE_H_
