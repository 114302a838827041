#ifndef DATAMANAGER_ANSWER_LISTING_PAGES_H_
#define DATAMANAGER_ANSWER_LISTING_PAGES_H_

// Makes pages of the call Runs from the data in memory: never waits and reads no file.
//
// Re-imagined: MindInsight's lists of train jobs and plugins. Their offsets are replaced by "after
// this one", so that runs that appear meanwhile shift nothing.

#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/datamanager_generated.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/catalog/run_source.h"

namespace datamanager {

// Converts a run for a listing, without labels, trial and plugins. Unknown times and numbers have
// the schema's defaults.
msg::RunT RunMessage(const RunCatalog::RunInfo& info);

// Returns the requested page of `runs` (all runs, newest first), on request in the order of a
// column (bus/json/run_rows.h). Omits the members that the service as a whole adds: logdir, state,
// and unreadable directories. The caller handles `request.run`. Uses `source` for queries, labels
// and plugins, with the data in memory. InvalidArgument: the pattern, the query or the kind is
// invalid, `after` is not the `next` of an earlier page, or the sort column is known only to the
// trainer.
absl::StatusOr<msg::RunsReplyT> RunsPage(const msg::RunsRequestT& request,
                                         const std::vector<RunCatalog::RunInfo>& runs,
                                         RunSource& source);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_LISTING_PAGES_H_
