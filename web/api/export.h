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

// Selects points of runs and tags for one streamed answer: rows as `yard export` writes them, or
// arrays.
struct ExportQuestion {
  // Names; or the runs that match `query`; or, if both are empty, all runs.
  std::vector<std::string> runs = {};
  std::string query = {};
  std::vector<std::string> tags = {};                                  // Empty for all.
  std::int64_t first_step = std::numeric_limits<std::int64_t>::min();  // Both inclusive.
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
  std::optional<bus::ExportStyle::Format> rows = bus::ExportStyle::Format::kCsv;  // Unset: arrays.
};

// Parses "run", "tag" (both repeatable), "q", "from", "to" and "format" of an address.
// InvalidArgument explains the error.
absl::StatusOr<ExportQuestion> ParseExportQuestion(const Target& target);

// The binary format, all little endian: "YSC1", four zero bytes, then blocks, each with a part of
// one series: the length of a JSON text and the number of points, as 32-bit numbers; the text,
// {"run": ..., "tag": ...}, padded with spaces to a multiple of 8 bytes; then steps (i64), wall
// times (f64, seconds since 1970) and values (f64). A block with an empty text ends the data; an
// answer without it was truncated.
inline constexpr std::string_view kColumnsType = "application/vnd.yard.columns";
std::string ColumnsHeader();
void AppendColumnBlock(const msg::ScalarsReplyT& points, std::string& body);
std::string ColumnsEnd();

// Streams the points from the data manager to the client, at the speed at which the client reads.
// An error before the first point is sent as a problem; a later one closes the connection. Blocks.
void Export(bus::Client& client, const ExportQuestion& question,
            const std::shared_ptr<Reply>& reply);

}  // namespace web

#endif  // WEB_API_EXPORT_H_
