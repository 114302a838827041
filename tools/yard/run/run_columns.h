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

// Parses "config.lr,val/acc,state", and adds the column to sort by ("-val/acc", or empty). "state"
// is that of the run's trial. InvalidArgument for a column without a name.
absl::StatusOr<std::vector<bus::RunColumn>> ParseColumns(const std::string& list,
                                                         const std::string& sort);

// Returns a line for each run: its name and its columns. "-" stands for values that are missing or
// not known yet. Numbers have as many digits as needed to tell them apart.
std::string ColumnsTable(std::span<const bus::RunRow> rows, std::span<const bus::RunColumn> columns,
                         absl::Time now, int width = 0);

// Returns a query for the metrics and parameters that no row has, because they may be misspelled.
// Empty if every column has a value.
std::string QueryForMissing(std::span<const bus::RunRow> rows,
                            std::span<const bus::RunColumn> columns);

}  // namespace yard

#endif  // TOOLS_YARD_RUN_RUN_COLUMNS_H_
