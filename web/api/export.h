#ifndef WEB_API_EXPORT_H_
#define WEB_API_EXPORT_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "bus/json/point_export.h"
#include "bus/schema/datamanager_generated.h"
#include "web/http/message.h"
#include "web/http/server.h"

namespace web {

// Every point of runs and tags, as one long answer: rows, as `yard export` writes them, or arrays.
struct ExportQuestion {
  // Names, or the runs that match the query; neither: all runs.
  std::vector<std::string> runs = {};
  std::string query = {};
  std::vector<std::string> tags = {};                                  // None: all.
  std::int64_t first_step = std::numeric_limits<std::int64_t>::min();  // Both inclusive.
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
  std::optional<bus::ExportStyle::Format> rows = bus::ExportStyle::Format::kCsv;  // None: arrays.
};

// From "run", "tag" (again for more), "q", "from", "to" and "format" of an address. InvalidArgument
// says what is wrong.
absl::StatusOr<ExportQuestion> ParseExportQuestion(const Target& target);

// Arrays are "YSC1", four zero bytes, then blocks, each of a part of one series: the length of a
// JSON text and how many points it has, as 32-bit numbers; the text, {"run": ..., "tag": ...}, with
// spaces up to a multiple of 8 bytes; so many steps (i64), wall times (f64, seconds since 1970) and
// values (f64). All is little endian. A block without a text is the end; an answer without such a
// block was cut off.
inline constexpr std::string_view kColumnsType = "application/vnd.yard.columns";
std::string ColumnsHeader();
void AppendColumnBlock(const msg::ScalarsReplyT& points, std::string& body);
std::string ColumnsEnd();

// Answers with the points that the data manager sends, no faster than the client takes them. An
// error before the first point is a problem; a later one ends the connection. Blocks.
void Export(bus::Client& client, const ExportQuestion& question,
            const std::shared_ptr<Reply>& reply);

}  // namespace web

#endif  // WEB_API_EXPORT_H_
