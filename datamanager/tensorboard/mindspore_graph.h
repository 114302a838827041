#ifndef DATAMANAGER_TENSORBOARD_MINDSPORE_GRAPH_H_
#define DATAMANAGER_TENSORBOARD_MINDSPORE_GRAPH_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace datamanager::tensorboard {

// A graph of MindSpore (GraphProto of anf_ir.proto) as TensorBoard's page draws it: a
// tensorflow.GraphDef of the same nodes under the names that MindInsight shows, with their scopes,
// inputs and attributes, those as JSON. InvalidArgument: the graph is damaged. Pure; any thread.
absl::StatusOr<std::string> GraphDefOf(std::string_view mindspore_graph);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_MINDSPORE_GRAPH_H_
