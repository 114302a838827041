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
  kNone,         // Metadata alone; legal, and stands for an empty tensor (value_decoder.h).
  kSimpleValue,  // A float, perhaps with its double; implies the plugin "scalars".
  kTensor,       // tensorflow.TensorProto; its plugin says what it means.
  kHistogram,    // tensorflow.HistogramProto; implies "histograms".
  kImage,        // tensorflow.Summary.Image; implies "images".
  kAudio,        // tensorflow.Summary.Audio; implies "audio".
  // Messages of MindSpore's summary files (mindspore_event.h).
  kMindSporeImage,
  kMindSporeTensor,
  kMindSporeHistogram,
  kLandscape,
};

// SummaryMetadata.data_class; a number of a later version stays as it is.
enum class DataClass : std::int32_t { kUnknown = 0, kScalar = 1, kTensor = 2, kBlobSequence = 3 };

// One value of an event's summary. Views point into the payload.
struct SummaryValue {
  std::string_view tag;     // An old tensor without a tag has its `node_name` here.
  std::string_view plugin;  // From its metadata; empty if it has none.
  DataClass data_class = DataClass::kUnknown;
  std::string_view metadata;  // The whole SummaryMetadata message; data() is null without one.
  ValueKind kind = ValueKind::kNone;
  // The value as a scalar: `simple_value`, with 64 bits where the yard wrote them beside it, or a
  // tensor of one element with any real number type
  // (number_type.h). A 64-bit integer is rounded to the nearest double.
  std::optional<double> scalar;
  // The one element has a shape, [1] or [1, 1]: a scalar only where scalars are meant
  // (tag_metadata.h).
  bool shaped = false;
  // The message of the kind (not for kNone and kSimpleValue), undecoded: to keep where it is, or
  // to decode when somebody wants to see it.
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
  kLogMessage,  // No writer of today has it.
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
  double wall_time = 0;  // Seconds since 1970, as written: also NaN.
  std::int64_t step = 0;
  EventKind kind = EventKind::kNone;
  std::string_view file_version;  // "brain.Event:2" in the first record of a file.
  std::string_view writer;        // The program that wrote the file, where it says so.
  SessionStatus session_status = SessionStatus::kUnspecified;
  std::vector<SummaryValue> values;
  // For the other kinds: the field's bytes, undecoded.
  std::string_view bytes;
  // Number of unknown fields in the event and its values: of a later version, or of no version.
  std::uint32_t unknown_fields = 0;

  // As new, but for the memory that it has.
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

// Reads an event; `event` is reused, so that its memory is, and nothing else is allocated. Unknown
// fields are skipped and counted. Where a field that may be there once comes again, the last one
// counts.
// InvalidArgument if the payload is no event (also a known field with another wire type than its
// own); never reads outside it.
absl::Status DecodeEvent(std::string_view payload, Event* event);

// One scalar to write.
struct Scalar {
  std::string_view tag;
  double value = 0;
};

// The first record of an event file, framed.
std::string RenderFileHeader(double wall_time);
// A record with these scalars, framed. A pure function of its arguments: the same row gives the
// same bytes, which lets an owner cut a file off and append again.
//
// The scalars are written as `simple_value`, which every reader takes as a scalar without metadata:
// TensorBoard in Python, its Rust data server (which drops any scalar that is not a float), and
// everything older. With kDouble a number that is no float has its 64 bits beside that, in a field
// of ours that other readers skip (10 bytes). A tensor with its metadata would cost 22 bytes a
// record more and say nothing that `simple_value` does not imply.
enum class ScalarWidth { kFloat, kDouble };
std::string RenderScalars(double wall_time, std::int64_t step, std::span<const Scalar> scalars,
                          ScalarWidth width = ScalarWidth::kFloat);
// Whether `exact` is what was written as `simple`: its nearest float.
bool IsExactValueOf(float simple, double exact);

// "events.out.tfevents.<10-digit seconds>.<host>.<pid>.<number>"
std::string EventFileName(std::int64_t unix_seconds, std::string_view host, std::int64_t pid,
                          std::int64_t number);

}  // namespace eventlog

#endif  // EVENTLOG_EVENT_H_
