#ifndef EVENTLOG_MINDSPORE_EVENT_H_
#define EVENTLOG_MINDSPORE_EVENT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eventlog/event.h"

namespace eventlog {

// MindSpore's summary files: records are framed like TensorBoard's, but contain other messages
// (mindinsight_summary.proto, mindinsight_lineage.proto, mindinsight_anf_ir.proto). The names of
// files show which ones are MindSpore's (docs/event_files.md). Pure functions; any thread.

// True for the version in the first record of such a file; an older spelling is also accepted.
bool IsMindSporeVersion(std::string_view file_version);

// Decodes an event into the same form as DecodeEvent(), with the same guarantees. Differences:
// - A value's `plugin` is MindInsight's name of its kind ("scalar", "image", "tensor", "histogram",
//   "loss_landscape"; not a view into the payload), and its data class is the matching one.
// - Its kind is kSimpleValue, kMindSporeImage, kMindSporeTensor, kMindSporeHistogram or kLandscape.
// - A graph has kind kMindSporeGraph (graph_nodes.h), an explanation kind kExplain; both undecoded.
// InvalidArgument also for an event without a wall time and a value without a tag, which the format
// requires. Fields that a kind of value requires are checked when the value is decoded.
absl::Status DecodeMindSporeEvent(std::string_view payload, Event* event);

// Returns the tag under which such a value is served: "loss/scalar". Values of different kinds may
// have the same tag.
std::string MindSporeTag(const SummaryValue& value);

// Kind of the content of a lineage file's record.
enum class LineageKind : std::uint8_t {
  kNone,
  kFileVersion,
  kTrain,
  kEvaluation,
  kDataset,
  kUserDefined,
};

// An event of a file whose name ends in "_lineage". Views point into the payload.
struct LineageEvent {
  double wall_time = 0;
  std::int64_t step = 0;
  LineageKind kind = LineageKind::kNone;
  std::string_view file_version;
  std::string_view bytes;  // The message of the kind.
};

// Returns InvalidArgument if the payload is malformed or has no wall time.
absl::StatusOr<LineageEvent> DecodeLineageEvent(std::string_view payload);

// Converts the message of a lineage event to a JSON object with names as in
// mindinsight_lineage.proto (protobuf_json.h). InvalidArgument: the message is malformed, too large
// or nested too deeply.
absl::StatusOr<std::string> LineageJson(LineageKind kind, std::string_view bytes);

}  // namespace eventlog

#endif  // EVENTLOG_MINDSPORE_EVENT_H_
