#ifndef DATAMANAGER_ANSWER_SCALAR_ANSWER_H_
#define DATAMANAGER_ANSWER_SCALAR_ANSWER_H_

// ReadScalars: points of several tags of several runs. Series come one after the other in the order
// of runs and tags, each whole: in parts of about 8,192 points, of which one may end one series and
// begin the next. Runs whose points are not in memory are read, and waited for.
//
// InvalidArgument: a pattern, the query or the policy is wrong; NotFound: a run or tag that is
// named is not there; FailedPrecondition: `cached_only`, and points are not in memory; Aborted: a
// run was read anew in the middle of a series.

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "bus/schema/datamanager_generated.h"
#include "datamanager/answer/answer.h"
#include "datamanager/catalog/run_source.h"

namespace datamanager {

// Limits of one part, which ends behind the series that reaches a limit.
inline constexpr std::size_t kPartEntries = 8'192;
inline constexpr std::size_t kPartSeries = 500;

// `source` is not owned, and lives as long as the maker.
absl::StatusOr<std::unique_ptr<AnswerMaker<msg::ReadScalarsReplyT>>> MakeScalarAnswer(
    const msg::ReadScalarsRequestT& request, RunSource* source);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_SCALAR_ANSWER_H_
