#ifndef DATAMANAGER_ANSWER_GRAPH_PAGE_H_
#define DATAMANAGER_ANSWER_GRAPH_PAGE_H_

// A page of a graph: either the nodes and scopes directly in a scope, or the nodes whose name
// contains a text. The graph is read from its bytes for each page, in two or three passes, and not
// kept. Pure; any thread. A graph of 100,000 nodes takes some tens of milliseconds.
//
// Re-imagined: MindInsight's graph processor (list_nodes, search_node_names, search_single_node),
// which keeps a tree of all nodes with their attributes for each graph.

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bus/schema/datamanager_generated.h"
#include "eventlog/graph_nodes.h"

namespace datamanager {

struct GraphPageRequest {
  std::string scope = {};   // "net/conv1"; empty: the top.
  std::string search = {};  // A part of a name, in any case; empty: lists the scope.
  std::string after = {};   // A name; the page begins behind this name.
  std::size_t limit = 0;    // Most nodes of the page, up to kMaxGraphPage; 0: kMaxGraphPage.
};
inline constexpr std::size_t kMaxGraphPage = 1'000;
// Different names in one answer, over all its pages.
inline constexpr std::size_t kMaxGraphNames = 1'000'000;
// Limit of each list of a node (inputs, outputs, attributes) and of its op, device and scope; the
// rest is left out.
inline constexpr std::size_t kMaxNodeListBytes = std::size_t{256} << 10;
// A page ends early when it is so large.
inline constexpr std::size_t kMaxGraphPageBytes = std::size_t{4} << 20;

// Sets nodes (by name), total and next of `reply`. Nodes of a function in the graph's library stand
// in a scope of its name. A scope has the number of nodes below it, and no `op` unless it is the
// name of a node as well; a search finds nodes alone.
// Inputs and outputs are names of nodes, with "^" before a control dependency, and ":1" and so on
// behind the name if another output than the first is used. A name that no node has is shown as
// written. Values of attributes are JSON.
//
// InvalidArgument: the graph is damaged; NotFound: the graph has no such scope; ResourceExhausted:
// over kMaxGraphNames.
absl::Status FillGraphPage(eventlog::GraphReader::Format format, std::string_view graph,
                           const GraphPageRequest& request, msg::ReadGraphReplyT* reply);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_GRAPH_PAGE_H_
