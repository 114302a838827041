#ifndef EVENTLOG_GRAPH_ATTRIBUTES_H_
#define EVENTLOG_GRAPH_ATTRIBUTES_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace eventlog {

// Convert attributes of a graph's nodes to JSON (protobuf_json.h). A tensor is represented by its
// type and shape, because nobody reads so long an attribute in full. Pure. InvalidArgument: the
// bytes are malformed or too large.

// tensorflow.AttrValue
absl::StatusOr<std::string> TensorFlowAttributeJson(std::string_view bytes);
// ValueProto of anf_ir.proto
absl::StatusOr<std::string> MindSporeValueJson(std::string_view bytes);
// TypeProto of anf_ir.proto
absl::StatusOr<std::string> MindSporeTypeJson(std::string_view bytes);

}  // namespace eventlog

#endif  // EVENTLOG_GRAPH_ATTRIBUTES_H_
