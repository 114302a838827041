#ifndef TOOLS_YARD_RUN_RUN_VIEW_H_
#define TOOLS_YARD_RUN_RUN_VIEW_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/time/time.h"
#include "bus/json/run_json.h"
#include "bus/schema/datamanager_generated.h"

namespace yard {

// Formats runs, their tags and their files for a terminal. Text from names and files is made
// Printable(). A table's `width` is that of the terminal, or 0 (Table::ToString). Pure functions;
// any thread.

// Returns a line for each run, with "-" for unknown values. Columns for names, labels, notes (their
// first lines) and bad records appear only if some run has a value.
std::string RunTable(std::span<const std::unique_ptr<msg::RunT>> runs, absl::Time now,
                     int width = 0);
// Returns lines with a key of ten columns, as in `yard show`.
std::string RunText(const msg::RunT& run, absl::TimeZone zone = absl::UTCTimeZone());
// Returns a line for each tag; with a column for plugins if some tag is not a scalar.
std::string TagTable(std::span<const std::unique_ptr<msg::TagT>> tags, int width = 0);
// Returns a line for each file, then one for each kind of fault.
std::string FilesText(const msg::FilesReplyT& files, int width = 0);

// Returns a line for each kind of fault that loses records or values of a file, or makes the file
// unusable; at most `most`, and one with the number of the others.
std::string DamageText(const msg::FilesReplyT& files, std::size_t most);

// The JSON that `--json` prints.
using bus::FaultsToJson;
using bus::FileToJson;
using bus::RunToJson;
using bus::TagToJson;

using bus::IsScalar;
using bus::IsSystemMetric;
using bus::WordsOf;

}  // namespace yard

#endif  // TOOLS_YARD_RUN_RUN_VIEW_H_
