#ifndef DATAMANAGER_ANSWER_SCALAR_ANSWER_H_
#define DATAMANAGER_ANSWER_SCALAR_ANSWER_H_

// ReadScalars: points of several tags of several runs. The series follow each other in the order of
// runs and tags, in parts of about 8,192 points; a part may contain the end of one series and the
// beginning of the next. Runs whose points are not in memory are loaded and waited for.
//
// Errors: InvalidArgument if a pattern, the query or the policy is malformed; NotFound if a named
// run or tag does not exist; FailedPrecondition if `cached_only` is set and points are not in
// memory; Aborted if a run was re-read in the middle of a series.

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "bus/schema/datamanager_generated.h"
#include "datamanager/answer/answer.h"
#include "datamanager/catalog/run_source.h"

namespace datamanager {

// Limits of one part, which ends after the series that reaches a limit.
inline constexpr std::size_t kPartEntries = 8'192;
inline constexpr std::size_t kPartSeries = 500;

// `source` is not owned and must outlive the maker.
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::ReadScalarsReplyT>>> MakeScalarAnswer(
    const msg::ReadScalarsRequestT& request, RunSource* source);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_SCALAR_ANSWER_H_
