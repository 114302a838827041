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

// Reads the nodes of a graph one by one from its serialized bytes, without copying them, so that a
// graph of 100,000 nodes needs the memory of one node.

struct GraphInput {
  std::string_view id;   // As in the file, without the mark of a control edge: "conv/kernel:0".
  bool control = false;  // True: only an ordering dependency.
};

struct GraphAttribute {
  std::string_view name;
  std::string_view bytes;  // For GraphReader::AttributeJson().
};

// Views point into the graph. Reuse one object for all nodes to reuse its memory.
struct GraphNode {
  std::string name;     // Includes the scope: "net/conv1/Conv2D".
  std::string_view id;  // Identifies the node in inputs; the name for TensorFlow.
  std::string_view op;  // "Parameter" and "Const" for MindSpore's parameters and constants, too.
  std::string_view device;
  std::string_view scope;     // "net/conv1"; empty for the top level.
  std::string_view function;  // Its function in the graph's library; empty: the graph itself.
  std::vector<GraphInput> inputs;
  std::vector<GraphAttribute> attributes;
};

// Used by one thread at a time.
class GraphReader {
 public:
  enum class Format : std::uint8_t {
    kTensorFlow,  // tensorflow.GraphDef: nodes, then those of the functions in its library.
    // GraphProto of anf_ir.proto. Nodes are named as in MindInsight: by `full_name`, otherwise
    // "SCOPE/TYPE-opID". A node without any name is skipped, as in MindInsight. Parameters and
    // constants keep their names in the graph. A node's output type is an attribute "output_type".
    kMindSpore,
  };
  // `graph` must outlive the reader.
  GraphReader(Format format, std::string_view graph);

  // Reads the next node; returns false at the end of the graph. InvalidArgument: the graph is
  // damaged here, and nothing after this point can be read.
  absl::StatusOr<bool> Next(GraphNode* node);

  // Converts the value of an attribute to JSON (protobuf_json.h). A tensor is represented by its
  // type and shape, because nobody reads so long an attribute in full. InvalidArgument if it is
  // malformed or too large.
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

// Returns the GraphDef in a serialized MetaGraphDef; empty if it has none.
absl::StatusOr<std::string_view> GraphOfMetaGraph(std::string_view bytes);
// Returns the graph in a MindSpore file `*.pb` (ModelProto of anf_ir.proto). InvalidArgument if the
// file contains no graph.
absl::StatusOr<std::string_view> GraphOfModel(std::string_view file);

}  // namespace eventlog

#endif  // EVENTLOG_GRAPH_NODES_H_
