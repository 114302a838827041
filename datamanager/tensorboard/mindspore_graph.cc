#include "datamanager/tensorboard/mindspore_graph.h"

#include <cstdint>
#include <functional>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "eventlog/graph_nodes.h"
#include "protozero/pbf_writer.hpp"
#include "runtime/text/utf8.h"

// Nodes are read twice, because inputs refer to nodes by ids, and names are known only after all
// nodes were read.

namespace datamanager::tensorboard {
namespace {

using eventlog::GraphInput;
using eventlog::GraphNode;
using eventlog::GraphReader;
using protozero::pbf_writer;

// Fields of tensorflow.GraphDef, NodeDef, an entry of its map, and AttrValue.
constexpr std::uint32_t kNode = 1;
enum : std::uint32_t { kName = 1, kOp = 2, kInput = 3, kDevice = 4, kAttribute = 5 };
enum : std::uint32_t { kKey = 1, kValue = 2 };
constexpr std::uint32_t kBytes = 2;

using Names = std::map<std::string, std::string, std::less<>>;  // By id.

template <typename Use>
absl::Status ForEachNode(GraphReader* reader, const Use& use) {
  GraphNode node;
  for (;;) {
    const auto more = reader->Next(&node);
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
    use(node);
  }
}

void AddAttribute(const GraphReader& reader, const eventlog::GraphAttribute& attribute,
                  pbf_writer* node) {
  const auto json = reader.AttributeJson(attribute);
  if (!json.ok()) return;
  std::string value, entry;
  pbf_writer(value).add_bytes(kBytes, *json);
  pbf_writer pair(entry);
  pair.add_string(kKey, runtime::LossyUtf8(attribute.name));
  pair.add_message(kValue, value);
  node->add_message(kAttribute, entry);
}

void AddNode(const GraphReader& reader, const GraphNode& node, const Names& names,
             std::string* graph) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_string(kName, runtime::LossyUtf8(node.name));
  writer.add_string(kOp, runtime::LossyUtf8(node.op));
  for (const GraphInput& input : node.inputs) {
    const auto name = names.find(input.id);
    if (name == names.end()) continue;
    writer.add_string(kInput, absl::StrCat(input.control ? "^" : "", name->second));
  }
  if (!node.device.empty()) writer.add_string(kDevice, runtime::LossyUtf8(node.device));
  for (const eventlog::GraphAttribute& attribute : node.attributes) {
    AddAttribute(reader, attribute, &writer);
  }
  pbf_writer(*graph).add_message(kNode, bytes);
}

}  // namespace

absl::StatusOr<std::string> GraphDefOf(std::string_view mindspore_graph) {
  Names names;
  GraphReader first(GraphReader::Format::kMindSpore, mindspore_graph);
  absl::Status read = ForEachNode(&first, [&](const GraphNode& node) {
    names.emplace(node.id, runtime::LossyUtf8(node.name));
  });
  std::string graph;
  GraphReader second(GraphReader::Format::kMindSpore, mindspore_graph);
  if (read.ok()) {
    read =
        ForEachNode(&second, [&](const GraphNode& node) { AddNode(second, node, names, &graph); });
  }
  if (!read.ok()) return read;
  return graph;
}

}  // namespace datamanager::tensorboard
