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

// The tags and runs that a call selects. An empty condition selects everything; otherwise all given
// conditions must hold.
struct SelectionRequest {
  std::vector<std::string> runs = {};  // Names or unique prefixes.
  std::string run_pattern = {};        // See name_pattern.h; for names of runs.
  std::string query = {};              // See run_query.h.
  std::vector<std::string> tags = {};  // Names.
  std::string tag_pattern = {};        // See name_pattern.h; for names of tags.
  std::string plugin = {};             // Name of a plugin.
};

// The tags of one run, whose files were read.
struct RunTags {
  std::string_view run;
  std::span<const TagFacts> tags;  // Sorted by name.
};

// A selected tag of a run.
struct SelectedSeries {
  std::size_t run = 0;  // Index in the given runs.
  std::size_t tag = 0;  // Index in that run's tags.

  bool operator==(const SelectedSeries&) const = default;
};

// A parsed selection. It is evaluated in three steps, of which the first two need no file contents:
// FindRuns(), then Ask() for each run found, then, once the files of those were read, FindSeries().
// Any thread may call any method.
class RunSelection {
 public:
  static constexpr std::size_t kMaxNames = 10'000;      // Limit of names of runs, and of tags.
  static constexpr std::size_t kMaxSeries = 1'000'000;  // Limit of one answer.

  // Returns InvalidArgument if a pattern or the query is malformed (RunQuery::Parse()), or there
  // are too many names.
  static absl::StatusOr<RunSelection> Make(SelectionRequest request);

  // Returns the selected runs as indices in `names`, the sorted names of all runs: in the order of
  // the request and without duplicates, or, if the request names no run, in the order of `names`.
  // NotFound: a named run does not exist; FailedPrecondition: a prefix is ambiguous.
  absl::StatusOr<std::vector<std::size_t>> FindRuns(std::span<const std::string_view> names) const;

  // Evaluates the query for a run; yes without a query. `now_us`: microseconds since 1970.
  Answer Ask(const RunFacts& run, std::int64_t now_us) const;
  // False if the selection has no query, so that Ask() always returns yes.
  bool HasQuery() const { return query_.has_value(); }
  // False if Ask() never returns unknown because of RunFacts::counted.
  bool NeedsFiles() const;
  // See RunQuery::NeedsParameters().
  bool NeedsParameters() const;

  // Returns the selected tags, run by run; those of a run in the order of the request, or by name
  // if the request names no tag. NotFound: a named tag is in none of `runs`, regardless of pattern
  // and plugin (unless `runs` is empty). ResourceExhausted: over kMaxSeries.
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
