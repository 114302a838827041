#ifndef DATAMANAGER_CATALOG_RUN_SOURCE_H_
#define DATAMANAGER_CATALOG_RUN_SOURCE_H_

// The runs as queries see them. Nothing here waits for a file to be read: a query for data that was
// not read yet gets Unavailable, and WhenReady() tells the caller when to retry.

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

// Keys of a BriefItem's content, besides BriefCache::kLineage (run_lineage.h).
inline constexpr std::string_view kTrialKey = "trial";    // RunLabels, from provenance.json.
inline constexpr std::string_view kConfigKey = "config";  // RunConfig, from params.json.
inline constexpr std::string_view kAnnotationsKey = "annotations";  // bus::Annotations.
inline constexpr std::string_view kOutcomeKey = "outcome";          // bus::RunOutcome.

// Any thread may call any method.
class RunSource {
 public:
  // The data that a query needs.
  enum class Need : std::uint8_t {
    kCounts,  // The run's tags and their counts.
    kPoints,  // The run's points, and the places of its other values.
  };
  struct Request {
    std::string run;  // The full name.
    Need need = Need::kCounts;
    bool cached_only = false;  // Reads nothing for this request.
    // Accepts the part that was read so far, if reading has begun.
    bool take_part = false;
    // Refuses a part of points that are being loaded. (A caller that has started a load sets this
    // once it has waited for the load.)
    bool whole = false;
    // The caller ignores View::state, whose look-up costs as much as that of the run itself.
    bool without_state = false;
  };
  // Valid during the call, under the run's lock.
  struct View {
    RunData& data;
    const ListedRun& listed;
    CacheState state = CacheState::kNotCached;
    bool incomplete = false;  // More is being read: of the files, or of the counted data.
  };
  using ReadFunction = std::function<absl::Status(const View& view)>;

  virtual ~RunSource() = default;

  // Returns the names of all runs, sorted. Unavailable, with the progress, before the first scan
  // has ended.
  virtual absl::StatusOr<std::vector<std::string>> Names() const = 0;
  // Returns NotFound if the run does not exist.
  virtual absl::StatusOr<std::shared_ptr<BriefItem>> Brief(const std::string& run) const = 0;
  // Calls `use`, which must be quick, and returns its result. `use` gets all the needed data, or,
  // while the run's points are being loaded, a part of them; a NotFound of `use` then becomes
  // Unavailable, or FailedPrecondition with `cached_only`, because the data may still come. Errors
  // without a call of `use`: NotFound if the run does not exist; FailedPrecondition if
  // `cached_only` is set and the data is not in memory; Unavailable if the data is being read now,
  // perhaps because of this call; DataLoss if the run is unreadable.
  virtual absl::Status Read(const Request& request, const ReadFunction& use) = 0;
  // Calls `ready` once, on any thread, when Read() of the same request may return something other
  // than Unavailable; at once if it may now.
  virtual void WhenReady(const Request& request, std::function<void()> ready) = 0;

  // Limit for readers of values in files; null: no limit.
  virtual eventlog::OpenFileBound* open_files() const = 0;
  // Microseconds since 1970.
  virtual std::int64_t NowUs() const = 0;
};

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_RUN_SOURCE_H_
