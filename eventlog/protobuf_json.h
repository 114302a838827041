#ifndef EVENTLOG_PROTOBUF_JSON_H_
#define EVENTLOG_PROTOBUF_JSON_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace eventlog {

// Protobuf messages as JSON text, driven by tables of their fields: for what is passed on and not
// understood here (lineage, hyperparameters, attributes of graphs). Pure; any thread.
//
// Close to protobuf's own JSON: names as in the .proto file, what is not there is left out,
// infinite numbers and NaN are the strings "Infinity", "-Infinity" and "NaN", floats have as many
// digits as they need. Differs in this: 64-bit integers are numbers, and bytes are text in which
// U+FFFD stands for what is not UTF-8. Where a field that may be there once comes again, the last
// one counts; nothing is merged.

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
  kMindSporeType,   // DataType of anf_ir.proto by name; a number where it is no type of numbers.
};

struct JsonMessage;

struct JsonField {
  std::uint32_t number;
  std::string_view name;
  JsonKind kind;
  bool repeated = false;
  const JsonMessage& (*message)() = nullptr;  // A function, because messages hold themselves.
};

struct JsonMessage {
  std::span<const JsonField> fields;
  // The message stands for the last of its fields that is there, without the name; null if no field
  // is there.
  bool unwrapped = false;
};

inline constexpr std::size_t kMaxJsonInputBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxJsonBytes = std::size_t{16} << 20;
inline constexpr int kMaxJsonNesting = 64;

// InvalidArgument: it is no such message, or over one of the limits.
absl::StatusOr<std::string> ProtobufAsJson(const JsonMessage& message, std::string_view bytes);
// A google.protobuf.Value.
absl::StatusOr<std::string> ProtobufValueAsJson(std::string_view bytes);

}  // namespace eventlog

#endif  // EVENTLOG_PROTOBUF_JSON_H_
