#ifndef TOOLS_YARD_RUN_RUN_COLUMNS_H_
#define TOOLS_YARD_RUN_RUN_COLUMNS_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/json/run_rows.h"

namespace yard {

// The table of `yard runs --columns ... --sort ...`. Pure functions; any thread.

// "config.lr,val/acc,state", and what is sorted by ("-val/acc", or nothing), which is a column too.
// "state" is that of the run's trial. InvalidArgument: a column without a name.
absl::StatusOr<std::vector<bus::RunColumn>> ParseColumns(const std::string& list,
                                                         const std::string& sort);

// A line for each run: its name and its columns. "-" is what it does not have, or what is not known
// yet. Numbers have as many digits as it takes to tell them apart.
std::string ColumnsTable(std::span<const bus::RunRow> rows, std::span<const bus::RunColumn> columns,
                         absl::Time now, int width = 0);

// A query for the metrics and parameters that none of the rows has, as they may be misspelled. It
// is empty if all are there.
std::string QueryForMissing(std::span<const bus::RunRow> rows,
                            std::span<const bus::RunColumn> columns);

}  // namespace yard

#endif  // TOOLS_YARD_RUN_RUN_COLUMNS_H_
