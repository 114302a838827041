#ifndef EVENTLOG_EVENT_H_
#define EVENTLOG_EVENT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace eventlog {

// How the value of a summary is stored.
enum class ValueKind : std::uint8_t {
  kNone,         // Only metadata; valid, and represents an empty tensor (value_decoder.h).
  kSimpleValue,  // A float, perhaps with its double; implies the plugin "scalars".
  kTensor,       // tensorflow.TensorProto; its plugin defines the meaning.
  kHistogram,    // tensorflow.HistogramProto; implies "histograms".
  kImage,        // tensorflow.Summary.Image; implies "images".
  kAudio,        // tensorflow.Summary.Audio; implies "audio".
  // Messages of MindSpore's summary files (mindspore_event.h).
  kMindSporeImage,
  kMindSporeTensor,
  kMindSporeHistogram,
  kLandscape,
};

// SummaryMetadata.data_class; numbers of later versions are kept unchanged.
enum class DataClass : std::int32_t { kUnknown = 0, kScalar = 1, kTensor = 2, kBlobSequence = 3 };

// One value of an event's summary. Views point into the payload.
struct SummaryValue {
  std::string_view tag;     // For an old tensor without a tag, its `node_name`.
  std::string_view plugin;  // From the metadata; may be empty.
  DataClass data_class = DataClass::kUnknown;
  std::string_view metadata;  // The whole SummaryMetadata message; data() is null if it is absent.
  ValueKind kind = ValueKind::kNone;
  // The value as a scalar: `simple_value` (with 64 bits if the yard wrote them beside it), or a
  // tensor with one element of any real number type (number_type.h). A 64-bit integer is rounded to
  // the nearest double.
  std::optional<double> scalar;
  // The single element has a shape, [1] or [1, 1]: it is a scalar only where scalars are expected
  // (tag_metadata.h).
  bool shaped = false;
  // The undecoded message of the kind (empty for kNone and kSimpleValue). Only its place is kept;
  // it is decoded on request.
  std::string_view bytes;
};

// Kind of an event's content.
enum class EventKind : std::uint8_t {
  kNone,
  kFileVersion,
  kSummary,
  kGraph,      // A serialized GraphDef.
  kMetaGraph,  // A serialized MetaGraphDef.
  kRunMetadata,
  kSessionLog,
  kLogMessage,  // No longer written today.
  // Messages of MindSpore's summary files.
  kMindSporeGraph,
  kExplain,
};

// tensorflow.SessionLog.SessionStatus
enum class SessionStatus : std::int32_t {
  kUnspecified = 0,
  kStart = 1,
  kStop = 2,
  kCheckpoint = 3
};

// Decoded TensorBoard event (tensorflow.Event). Views point into the payload.
struct Event {
  double wall_time = 0;  // Seconds since 1970, unchanged: may be NaN.
  std::int64_t step = 0;
  EventKind kind = EventKind::kNone;
  std::string_view file_version;  // "brain.Event:2" in the first record of a file.
  std::string_view writer;        // The program that wrote the file; may be empty.
  SessionStatus session_status = SessionStatus::kUnspecified;
  std::vector<SummaryValue> values;
  // The undecoded bytes of the field, for the other kinds.
  std::string_view bytes;
  // Number of unknown fields in the event and its values: from later versions, or invalid.
  std::uint32_t unknown_fields = 0;

  // Resets the event but keeps its allocated memory.
  void Clear() {
    wall_time = 0;
    step = 0;
    kind = EventKind::kNone;
    file_version = {};
    writer = {};
    session_status = SessionStatus::kUnspecified;
    values.clear();
    bytes = {};
    unknown_fields = 0;
  }
};

// Decodes an event. Reuses the memory of `event` and allocates nothing else. Skips and counts
// unknown fields. If a singular field is repeated, the last one wins.
//
// InvalidArgument if the payload is not an event (for example, if a known field has the wrong wire
// type). Never reads outside the payload.
absl::Status DecodeEvent(std::string_view payload, Event* event);

// A scalar to write.
struct Scalar {
  std::string_view tag;
  double value = 0;
};

// Returns the first record of an event file, framed.
std::string RenderFileHeader(double wall_time);
// Returns a framed record with these scalars. A pure function of its arguments: the same row gives
// the same bytes, so that an owner can truncate a file and append again.
//
// The scalars are written as `simple_value`, which every reader accepts as a scalar without
// metadata: TensorBoard in Python, its Rust data server (which drops any scalar that is not a
// float), and everything older. With kDouble, a number that is not exactly a float also has its 64
// bits in a field of ours that other readers skip (10 bytes). A tensor with its metadata would take
// 22 bytes a record more and add nothing that `simple_value` does not imply.
enum class ScalarWidth { kFloat, kDouble };
std::string RenderScalars(double wall_time, std::int64_t step, std::span<const Scalar> scalars,
                          ScalarWidth width = ScalarWidth::kFloat);
// True if `simple` is the nearest float of `exact`.
bool IsExactValueOf(float simple, double exact);

// Returns "events.out.tfevents.<10-digit seconds>.<host>.<pid>.<number>".
std::string EventFileName(std::int64_t unix_seconds, std::string_view host, std::int64_t pid,
                          std::int64_t number);

}  // namespace eventlog

#endif  // EVENTLOG_EVENT_H_
