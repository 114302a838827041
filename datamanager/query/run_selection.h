#ifndef DATAMANAGER_QUERY_RUN_SELECTION_H_
#define DATAMANAGER_QUERY_RUN_SELECTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "datamanager/find/name_pattern.h"
#include "datamanager/query/run_facts.h"
#include "datamanager/query/run_query.h"

namespace datamanager {

// The tags and runs that a question is about. An empty condition selects everything; all conditions
// that are given must hold.
struct SelectionRequest {
  std::vector<std::string> runs = {};  // Names or unique prefixes of names.
  std::string run_pattern = {};        // name_pattern.h, on names of runs.
  std::string query = {};              // run_query.h.
  std::vector<std::string> tags = {};  // Names.
  std::string tag_pattern = {};        // name_pattern.h, on names of tags.
  std::string plugin = {};             // The name of a plugin.
};

// The tags of one run, whose files were read.
struct RunTags {
  std::string_view run;
  std::span<const TagFacts> tags;  // Sorted by name.
};

struct SelectedSeries {
  std::size_t run = 0;  // Index in what was given.
  std::size_t tag = 0;  // Index in that run's tags.

  bool operator==(const SelectedSeries&) const = default;
};

// A request that was understood. It is answered in three steps, the first two of which need no
// payload: FindRuns(), then Ask() for each of them, then, once the files of those were read,
// FindSeries(). Any thread may call any method.
class RunSelection {
 public:
  static constexpr std::size_t kMaxNames = 10'000;      // Names of runs, and names of tags.
  static constexpr std::size_t kMaxSeries = 1'000'000;  // In one answer.

  // InvalidArgument: a pattern or the query is wrong (RunQuery::Parse()), or there are too many
  // names.
  static absl::StatusOr<RunSelection> Make(SelectionRequest request);

  // The runs that are selected by name, as indices in `names`, which are those of all runs, sorted:
  // in the order of the request, each once, or, if that names none, in theirs. NotFound: one that
  // is named is not there; FailedPrecondition: what is named is the beginning of several.
  absl::StatusOr<std::vector<std::size_t>> FindRuns(std::span<const std::string_view> names) const;

  // The query's answer for a run; yes if the selection has no query. `now_us`: microseconds since
  // 1970.
  Answer Ask(const RunFacts& run, std::int64_t now_us) const;
  // False: there is no query, and Ask() says yes to every run.
  bool HasQuery() const { return query_.has_value(); }
  // False: Ask() is never unknown for want of RunFacts::counted.
  bool NeedsFiles() const;
  // As RunQuery's.
  bool NeedsParameters() const;

  // The selected tags run by run, those of a run in the order of the request, or, if that names
  // none, by name. NotFound: one that is named is in none of `runs`, whatever pattern and plugin
  // say (not if there are no runs). ResourceExhausted: over kMaxSeries.
  absl::StatusOr<std::vector<SelectedSeries>> FindSeries(std::span<const RunTags> runs) const;

 private:
  RunSelection() = default;

  bool Includes(const TagFacts& tag) const;
  absl::Status CheckTagsFound(std::span<const RunTags> runs, const std::vector<bool>& found) const;

  SelectionRequest request_;
  std::optional<NamePattern> run_pattern_;
  std::optional<NamePattern> tag_pattern_;
  std::optional<RunQuery> query_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_QUERY_RUN_SELECTION_H_
