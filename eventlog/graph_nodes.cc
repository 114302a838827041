#include "eventlog/graph_nodes.h"

#include <cstddef>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "eventlog/graph_attributes.h"
#include "eventlog/wire.h"
#include "protozero/types.hpp"
#include "runtime/text/string_view.h"

// Always true:
// - A reader only moves forward: through graph_, then through function_ for each function of the
//   library. It keeps no node, and no view of a GraphNode outlives the bytes.
// - The bytes are untrusted: malformed bytes throw, Next() returns that error from then on
//   (damage_), and no node has more than kMaxInputs items.

namespace eventlog {
namespace {

using wire::Error;
using Tag = protozero::pbf_tag_type;

// Fields of tensorflow.GraphDef and its submessages.
enum GraphDefField : Tag { kNode = 1, kLibrary = 2 };
enum LibraryField : Tag { kFunction = 1 };
enum FunctionField : Tag { kSignature = 1, kNodeDef = 3 };
enum SignatureField : Tag { kSignatureName = 1 };
enum class NodeField : Tag { kName = 1, kOp = 2, kInput = 3, kDevice = 4, kAttribute = 5 };
// Fields of a map's entry, of an attribute, and of a named value.
enum class PairField : Tag { kName = 1, kValue = 2 };

// Fields of GraphProto of anf_ir.proto and its submessages.
enum MsGraphField : Tag { kMsNode = 1, kMsParameter = 3, kMsConst = 5 };
enum class MsNodeField : Tag {
  kInput = 1,
  kName = 2,
  kOpType = 3,
  kScope = 4,
  kAttribute = 5,
  kOutputType = 6,
  kFullName = 8,
};
enum class MsInputField : Tag { kName = 1, kType = 2 };

constexpr std::string_view kOutputType = "output_type";

// Limit of the inputs, and of the attributes, of one node: an empty one takes more memory than
// space in the file.
constexpr std::size_t kMaxInputs = 1'000'000;

template <typename Item>
Item& Added(std::vector<Item>* items) {
  if (items->size() >= kMaxInputs) throw Error("a node with over 1,000,000 inputs or attributes");
  return items->emplace_back();
}

void Clear(GraphNode* node) {
  node->name.clear();
  node->id = node->op = node->device = node->scope = node->function = {};
  node->inputs.clear();
  node->attributes.clear();
}

GraphAttribute Pair(std::string_view bytes) {
  GraphAttribute result;
  auto pair = wire::Open<PairField>(bytes);
  while (pair.next()) {
    if (pair.tag() == PairField::kName) {
      result.name = wire::TakeBytes(pair);
    } else if (pair.tag() == PairField::kValue) {
      result.bytes = wire::TakeBytes(pair);
    } else {
      pair.skip();
    }
  }
  return result;
}

void ReadTensorFlowNode(std::string_view bytes, GraphNode* result) {
  Clear(result);
  auto node = wire::Open<NodeField>(bytes);
  while (node.next()) {
    switch (node.tag()) {
      case NodeField::kName:
        result->id = wire::TakeBytes(node);
        break;
      case NodeField::kOp:
        result->op = wire::TakeBytes(node);
        break;
      case NodeField::kInput: {
        std::string_view id = wire::TakeBytes(node);
        GraphInput& input = Added(&result->inputs);
        input.control = id.starts_with('^');
        if (input.control) id.remove_prefix(1);
        input.id = id;
        break;
      }
      case NodeField::kDevice:
        result->device = wire::TakeBytes(node);
        break;
      case NodeField::kAttribute:
        Added(&result->attributes) = Pair(wire::TakeBytes(node));
        break;
      default:
        node.skip();
    }
  }
  result->name = result->id;
  const std::size_t slash = result->id.rfind('/');
  if (slash != std::string_view::npos) result->scope = result->id.substr(0, slash);
}

std::string_view NameOfFunction(std::string_view bytes) {
  std::string_view name;
  auto function = wire::OpenNumbers(bytes);
  while (function.next(kSignature)) {
    auto signature = wire::OpenNumbers(wire::TakeBytes(function));
    while (signature.next(kSignatureName)) name = wire::TakeBytes(signature);
  }
  return name;
}

// Returns "5" for "Default/loss/Add-op5"; the whole name if it has no such suffix.
std::string_view BehindOp(std::string_view name) {
  const std::size_t op = name.rfind("op");
  return op == std::string_view::npos || op + 2 == name.size() ? name : name.substr(op + 2);
}

GraphInput MindSporeInput(std::string_view bytes) {
  GraphInput result;
  auto input = wire::Open<MsInputField>(bytes);
  while (input.next()) {
    if (input.tag() == MsInputField::kName) {
      result.id = wire::TakeBytes(input);
    } else if (input.tag() == MsInputField::kType) {
      result.control = wire::TakeEnum(input) != 0;
    } else {
      input.skip();
    }
  }
  if (result.id.find('/') != std::string_view::npos) result.id = BehindOp(result.id);
  return result;
}

// True for "loss[:Scalar]": the name of a summary rather than of a position in the graph.
bool NamesASummary(std::string_view full_name) {
  for (const std::string_view plugin :
       {"image", "scalar", "graph", "optimized_graph", "histogram", "tensor", "loss_landscape"}) {
    if (absl::EndsWithIgnoreCase(runtime::Absl(full_name),
                                 absl::StrCat("[:", runtime::Absl(plugin), "]"))) {
      return true;
    }
  }
  return false;
}

void ReadMindSporeNode(std::string_view bytes, GraphNode* result) {
  Clear(result);
  std::string_view full_name;
  auto node = wire::Open<MsNodeField>(bytes);
  while (node.next()) {
    switch (node.tag()) {
      case MsNodeField::kInput: {
        const GraphInput input = MindSporeInput(wire::TakeBytes(node));
        if (!input.id.empty()) Added(&result->inputs) = input;
        break;
      }
      case MsNodeField::kName:
        result->id = wire::TakeBytes(node);
        break;
      case MsNodeField::kOpType:
        result->op = wire::TakeBytes(node);
        break;
      case MsNodeField::kScope:
        result->scope = wire::TakeBytes(node);
        break;
      case MsNodeField::kAttribute:
        Added(&result->attributes) = Pair(wire::TakeBytes(node));
        break;
      case MsNodeField::kOutputType:
        Added(&result->attributes) = {kOutputType, wire::TakeBytes(node)};
        break;
      case MsNodeField::kFullName:
        full_name = wire::TakeBytes(node);
        break;
      default:
        node.skip();
    }
  }
  const std::string_view name = result->id;
  if (name.empty()) return;
  result->id = BehindOp(name.substr(name.rfind('/') + 1));
  const bool summary = NamesASummary(full_name);
  if (!full_name.empty() && !summary) {
    result->name = full_name;
    return;
  }
  result->name = result->scope;
  if (!result->name.empty()) result->name += '/';
  absl::StrAppend(&result->name, runtime::Absl(result->op), "-op",
                  runtime::Absl(summary ? name : result->id));
}

// Reads a parameter (name and type) or a constant (key and value).
void ReadMindSporeLeaf(std::string_view op, std::string_view bytes, GraphNode* result) {
  Clear(result);
  const GraphAttribute pair = Pair(bytes);
  result->id = pair.name;
  result->name = pair.name;
  result->op = op;
  if (pair.bytes.empty()) return;
  result->attributes.push_back({op == "Parameter" ? kOutputType : pair.name, pair.bytes});
}

// Returns the last field with that number; null if the message has no such field.
absl::StatusOr<std::optional<std::string_view>> Inside(Tag number, std::string_view thing,
                                                       std::string_view bytes) {
  std::optional<std::string_view> inside;
  const absl::Status status = wire::Guarded(thing, [&] {
    auto message = wire::OpenNumbers(bytes);
    while (message.next(number)) inside = wire::TakeBytes(message);
  });
  if (!status.ok()) return status;
  return inside;
}

}  // namespace

GraphReader::GraphReader(Format format, std::string_view graph)
    : format_(format), graph_(wire::OpenNumbers(graph)) {}

absl::StatusOr<bool> GraphReader::Next(GraphNode* node) {
  if (!damage_.ok()) return damage_;
  bool found = false;
  damage_ = wire::Guarded("a graph", [&] {
    found = format_ == Format::kTensorFlow ? NextTensorFlow(node) : NextMindSpore(node);
  });
  if (!damage_.ok()) return damage_;
  return found;
}

bool GraphReader::NextTensorFlow(GraphNode* node) {
  for (;;) {
    if (function_.next(kNodeDef)) {
      ReadTensorFlowNode(wire::TakeBytes(function_), node);
      node->function = function_name_;
      return true;
    }
    if (library_.next(kFunction)) {
      const std::string_view function = wire::TakeBytes(library_);
      function_name_ = NameOfFunction(function);
      function_ = wire::OpenNumbers(function);
      continue;
    }
    if (!graph_.next()) return false;
    if (graph_.tag() == kNode) {
      ReadTensorFlowNode(wire::TakeBytes(graph_), node);
      return true;
    }
    if (graph_.tag() == kLibrary) {
      library_ = wire::OpenNumbers(wire::TakeBytes(graph_));
    } else {
      graph_.skip();
    }
  }
}

bool GraphReader::NextMindSpore(GraphNode* node) {
  while (graph_.next()) {
    switch (graph_.tag()) {
      case kMsNode:
        ReadMindSporeNode(wire::TakeBytes(graph_), node);
        break;
      case kMsParameter:
        ReadMindSporeLeaf("Parameter", wire::TakeBytes(graph_), node);
        break;
      case kMsConst:
        ReadMindSporeLeaf("Const", wire::TakeBytes(graph_), node);
        break;
      default:
        graph_.skip();
        continue;
    }
    if (!node->id.empty()) return true;
  }
  return false;
}

absl::StatusOr<std::string> GraphReader::AttributeJson(const GraphAttribute& attribute) const {
  if (format_ == Format::kTensorFlow) return TensorFlowAttributeJson(attribute.bytes);
  const bool is_type = attribute.name.data() == kOutputType.data();
  return is_type ? MindSporeTypeJson(attribute.bytes) : MindSporeValueJson(attribute.bytes);
}

absl::StatusOr<std::string_view> GraphOfMetaGraph(std::string_view bytes) {
  constexpr Tag kGraphDef = 2;
  const auto inside = Inside(kGraphDef, "a meta graph", bytes);
  if (!inside.ok()) return inside.status();
  return inside->value_or(std::string_view());
}

absl::StatusOr<std::string_view> GraphOfModel(std::string_view file) {
  constexpr Tag kGraph = 4;
  const auto inside = Inside(kGraph, "a model of MindSpore", file);
  if (!inside.ok()) return inside.status();
  if (!inside->has_value()) {
    return absl::InvalidArgumentError("not a model of MindSpore: it has no graph");
  }
  return **inside;
}

}  // namespace eventlog
