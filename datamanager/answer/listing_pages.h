#ifndef DATAMANAGER_ANSWER_LISTING_PAGES_H_
#define DATAMANAGER_ANSWER_LISTING_PAGES_H_

// Pages of Runs, of what is known by now: nothing here waits or reads a file.
//
// Re-imagined: MindInsight's lists of train jobs and plugins, with its offsets replaced by "what
// comes after this one", so that runs that come meanwhile shift nothing.

#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/datamanager_generated.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/catalog/run_source.h"

namespace datamanager {

// A run as it is listed, without labels, trial and plugins. Times and numbers that are not known
// have the schema's defaults.
msg::RunT RunMessage(const RunCatalog::RunInfo& info);

// The requested page of `runs` (all runs, newest first), without the members that the service as a
// whole adds: logdir, state, and unreadable directories; or, where that is asked for, in the order
// of a column (bus/json/run_rows.h). The caller handles `request.run`. Queries, labels and plugins
// are looked up in `source`, as far as each run is known there. InvalidArgument: the pattern, the
// query or the kind is invalid, `after` is no `next` of an earlier page, or runs are to be sorted
// by what only the trainer knows.
absl::StatusOr<msg::RunsReplyT> RunsPage(const msg::RunsRequestT& request,
                                         const std::vector<RunCatalog::RunInfo>& runs,
                                         RunSource& source);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_LISTING_PAGES_H_
