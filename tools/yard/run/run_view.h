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

// How a terminal shows runs, their tags and their files. Text from names and files is made
// Printable(). `width` of a table: of the terminal, or 0 (Table::ToString). Pure functions; any
// thread.

// A line for each run: what is not known yet is "-". There are columns for names,
// labels, notes (their first lines) and bad records if any run has some.
std::string RunTable(std::span<const std::unique_ptr<msg::RunT>> runs, absl::Time now,
                     int width = 0);
// Lines that begin with a key of ten columns, as in `yard show`.
std::string RunText(const msg::RunT& run, absl::TimeZone zone = absl::UTCTimeZone());
// A line for each tag; there is a column for plugins if any tag is no scalar.
std::string TagTable(std::span<const std::unique_ptr<msg::TagT>> tags, int width = 0);
// A line for each file, then one for each kind of fault.
std::string FilesText(const msg::FilesReplyT& files, int width = 0);

// A line for each kind of fault that costs records or values of a file, or makes it none; at most
// `most`, and one that says how many there are beside those.
std::string DamageText(const msg::FilesReplyT& files, std::size_t most);

// JSON that `--json` prints.
using bus::FaultsToJson;
using bus::FileToJson;
using bus::RunToJson;
using bus::TagToJson;

using bus::IsScalar;
using bus::IsSystemMetric;
using bus::WordsOf;

}  // namespace yard

#endif  // TOOLS_YARD_RUN_RUN_VIEW_H_
