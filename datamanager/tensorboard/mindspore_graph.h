#ifndef DATAMANAGER_TENSORBOARD_MINDSPORE_GRAPH_H_
#define DATAMANAGER_TENSORBOARD_MINDSPORE_GRAPH_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace datamanager::tensorboard {

// Converts a graph of MindSpore (GraphProto of anf_ir.proto) for TensorBoard's page: to a
// tensorflow.GraphDef with the same nodes, under the names that MindInsight shows, and with their
// scopes, inputs and attributes (as JSON). InvalidArgument if the graph is damaged. Pure; any
// thread.
absl::StatusOr<std::string> GraphDefOf(std::string_view mindspore_graph);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_MINDSPORE_GRAPH_H_
