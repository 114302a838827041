#ifndef EVENTLOG_GRAPH_ATTRIBUTES_H_
#define EVENTLOG_GRAPH_ATTRIBUTES_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace eventlog {

// Attributes of the nodes of a graph as JSON (protobuf_json.h). A tensor is given as its type and
// shape; so long an attribute is shown to nobody in full. Pure. InvalidArgument: the bytes are no
// such message, or too large.

// tensorflow.AttrValue
absl::StatusOr<std::string> TensorFlowAttributeJson(std::string_view bytes);
// ValueProto of anf_ir.proto
absl::StatusOr<std::string> MindSporeValueJson(std::string_view bytes);
// TypeProto of anf_ir.proto
absl::StatusOr<std::string> MindSporeTypeJson(std::string_view bytes);

}  // namespace eventlog

#endif  // EVENTLOG_GRAPH_ATTRIBUTES_H_
