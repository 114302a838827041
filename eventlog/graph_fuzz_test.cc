// Feeds arbitrary bytes as a graph of either format: each node is read or the graph is refused,
// every view lies inside the bytes, and attributes are valid JSON.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "eventlog/graph_nodes.h"

namespace {

using eventlog::GraphReader;

void MustBeInside(std::string_view part, std::string_view whole) {
  if (part.data() == nullptr) return;
  const std::less_equal<const char*> not_after;
  const char* end = whole.data() + whole.size();
  if (!not_after(whole.data(), part.data()) || !not_after(part.data() + part.size(), end)) abort();
}

void Read(GraphReader::Format format, std::string_view graph) {
  GraphReader reader(format, graph);
  static eventlog::GraphNode node;
  for (;;) {
    const auto more = reader.Next(&node);
    if (!more.ok() || !*more) return;
    MustBeInside(node.id, graph);
    MustBeInside(node.scope, graph);
    MustBeInside(node.function, graph);
    for (const auto& input : node.inputs) MustBeInside(input.id, graph);
    for (const auto& attribute : node.attributes) {
      MustBeInside(attribute.bytes, graph);
      const auto json = reader.AttributeJson(attribute);
      if (json.ok() && !nlohmann::json::accept(*json)) abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Read(GraphReader::Format::kTensorFlow, bytes);
  Read(GraphReader::Format::kMindSpore, bytes);
  if (const auto graph = eventlog::GraphOfModel(bytes); graph.ok()) {
    Read(GraphReader::Format::kMindSpore, *graph);
  }
  if (const auto graph = eventlog::GraphOfMetaGraph(bytes); graph.ok()) {
    Read(GraphReader::Format::kTensorFlow, *graph);
  }
  return 0;
}
