#ifndef EVENTLOG_GRAPH_NODES_H_
#define EVENTLOG_GRAPH_NODES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protozero/pbf_reader.hpp"

namespace eventlog {

// The nodes of a graph one by one, out of its serialized bytes and without a copy of them, so that
// a graph of 100,000 nodes costs what one node does.

struct GraphInput {
  std::string_view id;   // As written, without the mark of a control edge: "conv/kernel:0".
  bool control = false;  // Says only what comes before.
};

struct GraphAttribute {
  std::string_view name;
  std::string_view bytes;  // GraphReader::AttributeJson() reads them.
};

// Views point into the graph. Kept from node to node, so that its memory is.
struct GraphNode {
  std::string name;     // With its scope: "net/conv1/Conv2D".
  std::string_view id;  // Inputs refer to the node by this; for TensorFlow its name.
  std::string_view op;  // "Parameter" and "Const" also for MindSpore's parameters and constants.
  std::string_view device;
  std::string_view scope;     // "net/conv1"; empty for the top.
  std::string_view function;  // The function of the graph's library it is in; empty: the graph.
  std::vector<GraphInput> inputs;
  std::vector<GraphAttribute> attributes;
};

// One reader, one thread at a time.
class GraphReader {
 public:
  enum class Format : std::uint8_t {
    kTensorFlow,  // tensorflow.GraphDef: nodes, then those of the functions in its library.
    // GraphProto of anf_ir.proto. Named as MindInsight names them: by `full_name`, else
    // "SCOPE/TYPE-opID". A node without any name is left out, as MindInsight does. Parameters and
    // constants have the names they have in the graph. The type of its output is an attribute
    // "output_type".
    kMindSpore,
  };
  // The bytes outlive the reader.
  GraphReader(Format format, std::string_view graph);

  // True: there was another node. False: the graph has no more. InvalidArgument: the graph is
  // damaged here, and nothing can be read after it.
  absl::StatusOr<bool> Next(GraphNode* node);

  // The value of an attribute as JSON (protobuf_json.h). A tensor is given as its type and shape;
  // so long an attribute is shown to nobody in full. InvalidArgument if it is damaged or too large.
  absl::StatusOr<std::string> AttributeJson(const GraphAttribute& attribute) const;

 private:
  bool NextTensorFlow(GraphNode* node);
  bool NextMindSpore(GraphNode* node);

  const Format format_;
  protozero::pbf_reader graph_;
  protozero::pbf_reader library_;
  protozero::pbf_reader function_;
  std::string_view function_name_;
  absl::Status damage_;
};

// The GraphDef in a serialized MetaGraphDef; empty if it has none.
absl::StatusOr<std::string_view> GraphOfMetaGraph(std::string_view bytes);
// The graph in a file `*.pb` of MindSpore (ModelProto of anf_ir.proto). InvalidArgument: it is no
// such file, as it has no graph.
absl::StatusOr<std::string_view> GraphOfModel(std::string_view file);

}  // namespace eventlog

#endif  // EVENTLOG_GRAPH_NODES_H_
