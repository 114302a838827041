#ifndef EVENTLOG_PROTOBUF_JSON_H_
#define EVENTLOG_PROTOBUF_JSON_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace eventlog {

// Converts protobuf messages to JSON text, driven by tables of their fields: for data that is
// passed on without being interpreted here (lineage, hyperparameters, attributes of graphs). Pure;
// any thread.
//
// Similar to protobuf's own JSON: names as in the .proto file, absent fields are omitted, infinite
// numbers and NaN are the strings "Infinity", "-Infinity" and "NaN", floats have as many digits as
// they need. Differences: 64-bit integers are numbers, and bytes are text in which U+FFFD replaces
// what is not UTF-8. If a singular field is repeated, the last one wins; nothing is merged.

enum class JsonKind : std::uint8_t {
  kInteger,         // int32, int64, enum.
  kUnsigned,        // uint32, uint64.
  kBool,            // bool.
  kFloat,           // float.
  kDouble,          // double.
  kText,            // string, bytes.
  kMessage,         // The message that `message` describes.
  kMap,             // `message` has the key (a string, 1) and the value (2).
  kValue,           // google.protobuf.Value
  kListValue,       // google.protobuf.ListValue
  kTensorFlowType,  // tensorflow.DataType by name: "float32".
  kMindSporeType,   // DataType of anf_ir.proto by name; a number if it is not a type of numbers.
};

struct JsonMessage;

struct JsonField {
  std::uint32_t number;
  std::string_view name;
  JsonKind kind;
  bool repeated = false;
  const JsonMessage& (*message)() = nullptr;  // A function, because messages may contain
                                              // themselves.
};

struct JsonMessage {
  std::span<const JsonField> fields;
  // True: the message is replaced by the value of its last present field, without the name; null if
  // no field is present.
  bool unwrapped = false;
};

inline constexpr std::size_t kMaxJsonInputBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxJsonBytes = std::size_t{16} << 20;
inline constexpr int kMaxJsonNesting = 64;

// Returns InvalidArgument if the message is malformed or exceeds one of the limits.
absl::StatusOr<std::string> ProtobufAsJson(const JsonMessage& message, std::string_view bytes);
// Converts a google.protobuf.Value.
absl::StatusOr<std::string> ProtobufValueAsJson(std::string_view bytes);

}  // namespace eventlog

#endif  // EVENTLOG_PROTOBUF_JSON_H_
