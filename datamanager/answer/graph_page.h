#ifndef DATAMANAGER_ANSWER_GRAPH_PAGE_H_
#define DATAMANAGER_ANSWER_GRAPH_PAGE_H_

// Makes a page of a graph: either the nodes and scopes directly in a scope, or the nodes whose name
// contains a text. Parses the graph again for each page, in two or three passes, and keeps nothing.
// Pure; any thread. A graph of 100,000 nodes takes some tens of milliseconds.
//
// Re-imagined: MindInsight's graph processor (list_nodes, search_node_names, search_single_node),
// which keeps a tree of all nodes and attributes of each graph in memory.

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bus/schema/datamanager_generated.h"
#include "eventlog/graph_nodes.h"

namespace datamanager {

struct GraphPageRequest {
  std::string scope = {};   // "net/conv1"; empty: the top level.
  std::string search = {};  // A part of a name, case-insensitive; empty: lists the scope.
  std::string after = {};   // A name; the page begins after it.
  std::size_t limit = 0;    // Limit of the page's nodes, at most kMaxGraphPage; 0: kMaxGraphPage.
};
inline constexpr std::size_t kMaxGraphPage = 1'000;
// Limit of distinct names in one answer, over all its pages.
inline constexpr std::size_t kMaxGraphNames = 1'000'000;
// Limit of each list of a node (inputs, outputs, attributes) and of its op, device and scope;
// longer ones are cut.
inline constexpr std::size_t kMaxNodeListBytes = std::size_t{256} << 10;
// A page that reaches this size ends early.
inline constexpr std::size_t kMaxGraphPageBytes = std::size_t{4} << 20;

// Sets nodes (by name), total and next of `reply`. Nodes of a function in the graph's library are
// in a scope named after the function. A scope has the number of nodes below it, and an `op` only
// if a node has the same name; a search finds only nodes.
// Inputs and outputs are names of nodes, with the prefix "^" for a control dependency, and the
// suffix ":1" and so on for an output other than the first. A reference to an unknown node is shown
// unchanged. Values of attributes are JSON.
//
// Errors: InvalidArgument if the graph is damaged, NotFound if it has no such scope,
// ResourceExhausted over kMaxGraphNames.
absl::Status FillGraphPage(eventlog::GraphReader::Format format, std::string_view graph,
                           const GraphPageRequest& request, msg::ReadGraphReplyT* reply);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_GRAPH_PAGE_H_
