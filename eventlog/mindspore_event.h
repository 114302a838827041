#ifndef EVENTLOG_MINDSPORE_EVENT_H_
#define EVENTLOG_MINDSPORE_EVENT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eventlog/event.h"

namespace eventlog {

// MindSpore's summary files: records framed as TensorBoard's, with messages of their own
// (mindinsight_summary.proto, mindinsight_lineage.proto, mindinsight_anf_ir.proto). The names of
// files tell which ones are MindSpore's (docs/event_files.md). Pure functions; any thread.

// True for the version in the first record of such a file; one spelling was in use before the
// other.
bool IsMindSporeVersion(std::string_view file_version);

// Reads an event into the same shape as DecodeEvent(), with the same promises. Differs in this:
// - A value's `plugin` is MindInsight's name of its kind ("scalar", "image", "tensor", "histogram",
//   "loss_landscape"; not a view into the payload), its class the one that belongs to it.
// - Its kind is kSimpleValue, kMindSporeImage, kMindSporeTensor, kMindSporeHistogram or kLandscape.
// - A graph is of kind kMindSporeGraph (graph_nodes.h), an explanation of kind kExplain, undecoded.
// InvalidArgument also for an event without a wall time and a value without a tag, which the format
// requires. Fields that a value of another kind requires are checked when the value is decoded.
absl::Status DecodeMindSporeEvent(std::string_view payload, Event* event);

// The tag that such a value is served under: "loss/scalar". Two values of different kinds may have
// the same tag.
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

// InvalidArgument if it is none, or has no wall time.
absl::StatusOr<LineageEvent> DecodeLineageEvent(std::string_view payload);

// The message of a lineage event as a JSON object, names as in mindinsight_lineage.proto
// (protobuf_json.h). InvalidArgument: it is no such message, or too large or too deep.
absl::StatusOr<std::string> LineageJson(LineageKind kind, std::string_view bytes);

}  // namespace eventlog

#endif  // EVENTLOG_MINDSPORE_EVENT_H_
