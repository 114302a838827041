#ifndef DATAMANAGER_ANSWER_SERIES_SELECTION_H_
#define DATAMANAGER_ANSWER_SERIES_SELECTION_H_

// Finds the runs and tags that a call selects, step by step as the runs become known.
//
// Omits and counts runs for which the query cannot be evaluated yet. Waits for selected runs whose
// tags are not known yet.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/datamanager_generated.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/query/run_selection.h"
#include "datamanager/read/run_data.h"

namespace datamanager {

// Converts the schema's selection; null selects everything.
SelectionRequest SelectionOf(const msg::SelectionT* selection);

// The runs that the names, the pattern and the query of a selection match.
struct SelectedRuns {
  std::vector<std::string> runs;
  std::uint64_t undecided = 0;
};
// Errors: those of RunSelection::FindRuns(); Unavailable before the first scan has ended.
absl::StatusOr<SelectedRuns> SelectRuns(const RunSelection& selection, RunSource& source);
// Returns the full name of the run with this name or unique prefix. Errors: the same;
// InvalidArgument for an empty name.
absl::StatusOr<std::string> FindRunName(const std::string& run, RunSource& source);

// Selects the series of a call. Not thread safe.
class SeriesSelection {
 public:
  // kScalars selects tags with points, kValues tags with other values.
  enum class Kind : std::uint8_t { kScalars, kValues };
  struct Series {
    std::size_t run = 0;  // Index in runs().
    std::string tag;
  };
  // Limit of the tags that one call examines, over all runs.
  static constexpr std::size_t kMaxTags = 1'000'000;

  // Converts the schema's selection of runs and tags. `source` is not owned.
  static absl::StatusOr<SeriesSelection> Make(const msg::SelectionT* selection, Kind kind,
                                              RunSource* source);

  // Continues until all runs and tags are known. Unavailable: wait until waiting() is read, then
  // call Find() again. Other errors: those of RunSelection; ResourceExhausted over kMaxTags or
  // RunSelection::kMaxSeries; DataLoss if a run is unreadable and no other run has a selected tag.
  absl::Status Find();
  // After Unavailable, the request to pass to RunSource::WhenReady(). Null before the end of the
  // first scan, for which no call waits.
  const std::optional<RunSource::Request>& waiting() const { return waiting_; }

  // Valid after Find() has returned OK.
  const std::vector<std::string>& runs() const { return runs_.runs; }
  const std::vector<Series>& series() const { return series_; }
  // True if the run may have more selected tags, because it was still being read when its tags were
  // listed.
  bool FoundInPart(std::size_t run) const { return in_part_.contains(run); }
  // Number of omitted runs: those for which the query cannot be evaluated, and unreadable ones.
  std::uint64_t undecided() const { return runs_.undecided + unreadable_count_; }

 private:
  struct Tag {
    std::string name;
    std::string plugin;
  };

  SeriesSelection(RunSelection selection, Kind kind, RunSource* source);
  bool Counts(const RunData::Tag& tag) const;
  absl::Status FindTagsOf(const std::string& run);
  // True if a run that is still being read may add to `selected`: the search for tags starts again
  // and waits for that run.
  bool AwaitsMore(const absl::StatusOr<std::vector<SelectedSeries>>& selected);

  RunSelection selection_;
  Kind kind_;
  bool cached_only_ = false;
  bool whole_ = false;
  std::size_t named_tags_ = 0;
  RunSource* source_;
  bool found_runs_ = false;
  SelectedRuns runs_;
  std::vector<std::vector<Tag>> tags_;  // Tags, by name, of the runs examined so far.
  std::size_t tag_count_ = 0;
  std::set<std::size_t> in_part_;  // Runs whose tags are not all known.
  std::uint64_t unreadable_count_ = 0;
  absl::Status unreadable_;        // Why the first of them is unreadable.
  std::set<std::string> awaited_;  // Runs that must be read completely before their tags count.
  std::optional<RunSource::Request> waiting_;
  std::vector<Series> series_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_SERIES_SELECTION_H_
