#ifndef DATAMANAGER_ANSWER_IMPORTANCE_ANSWER_H_
#define DATAMANAGER_ANSWER_IMPORTANCE_ANSWER_H_

// Importance: how strongly each parameter of the selected runs decides whether a run is among the
// best of them (tuning/analysis/importance.h). The runs may come from a sweep or from a manual
// search.
//
// Re-imagined: W&B's parameter importance panel, which trains a random forest on the runs of a
// table.

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "bus/schema/datamanager_generated.h"
#include "datamanager/answer/answer.h"
#include "datamanager/catalog/run_source.h"

namespace datamanager {

inline constexpr std::size_t kFewestCompared = 10;
inline constexpr std::size_t kMostCompared = 10'000;

// Answers in one part. Waits until the tags of each run are known; an unreadable run is selected
// but not counted. If the importance cannot be computed, the call succeeds and `reason` says why.
// Errors: those of RunSelection::FindRuns(); InvalidArgument if the request names no value.
// `source` is not owned and must outlive the maker.
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::ImportanceReplyT>>> MakeImportanceAnswer(
    const msg::ImportanceRequestT& request, RunSource* source);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_IMPORTANCE_ANSWER_H_
