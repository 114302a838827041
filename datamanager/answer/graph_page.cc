#include "datamanager/answer/graph_page.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

// Three passes over the graph: the first collects the names (and chooses the page's), the second
// reads the nodes on the page, and the third finds the nodes connected with them. A graph's node
// ids are unique within one function only, so an id is looked up together with its function.

namespace datamanager {
namespace {

using eventlog::GraphInput;
using eventlog::GraphNode;
using eventlog::GraphReader;

// Returns the name of a node on a page.
std::string PathOf(const GraphNode& node) {
  if (node.function.empty()) return runtime::LossyUtf8(node.name);
  return runtime::LossyUtf8(absl::StrCat(runtime::Absl(node.function), "/", node.name));
}

// Combines both parts unambiguously, whatever characters they contain.
std::string IdIn(std::string_view function, std::string_view id) {
  return absl::StrCat(function.size(), ":", runtime::Absl(function), runtime::Absl(id));
}

// "conv/kernel:1" is output 1 of "conv/kernel"; within a function it is "conv:output:1".
struct Reference {
  std::string_view id;
  std::string_view output;  // Includes the colon; empty for the first output.
};
Reference Split(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {text, {}};
  const std::string_view output = text.substr(colon);
  return {text.substr(0, colon), output == ":0" ? std::string_view() : output};
}

// Limits the total size of a list of texts.
class BoundedList {
 public:
  bool Takes(std::size_t bytes) {
    bytes_ += bytes + 16;
    return bytes_ <= kMaxNodeListBytes;
  }
  std::size_t bytes() const { return std::min(bytes_, kMaxNodeListBytes); }

 private:
  std::size_t bytes_ = 0;
};

struct Listed {
  bool is_node = false;
  std::uint64_t below = 0;
};
using Names = std::map<std::string, Listed>;

class Page {
 public:
  Page(GraphReader::Format format, std::string_view graph, const GraphPageRequest& request,
       msg::ReadGraphReplyT* reply)
      : format_(format),
        graph_(graph),
        request_(request),
        prefix_(request.scope.empty() ? "" : request.scope + "/"),
        search_(absl::AsciiStrToLower(request.search)),
        reply_(reply) {}

  absl::Status Fill() {
    if (absl::Status good =
            ForEachNode([this](GraphReader&, const GraphNode& node) { return List(PathOf(node)); });
        !good.ok()) {
      return good;
    }
    if (names_.empty() && search_.empty() && !request_.scope.empty()) {
      return absl::NotFoundError(
          absl::StrCat("the graph has no scope \"", request_.scope, "\" with nodes in it"));
    }
    TakePage();
    if (absl::Status good = ForEachNode(
            [this](GraphReader& reader, const GraphNode& node) { return Show(reader, node); });
        !good.ok()) {
      return good;
    }
    if (!shown_.empty()) {
      if (absl::Status good =
              ForEachNode([this](GraphReader&, const GraphNode& node) { return Connect(node); });
          !good.ok()) {
        return good;
      }
    }
    NameInputs();
    CutToSize();
    return absl::OkStatus();
  }

 private:
  struct Shown {
    msg::GraphNodeT* message = nullptr;
    BoundedList outputs;
  };

  template <typename Visit>
  absl::Status ForEachNode(Visit visit) {
    GraphReader reader(format_, graph_);
    GraphNode node;
    for (;;) {
      const auto more = reader.Next(&node);
      if (!more.ok()) return more.status();
      if (!*more) return absl::OkStatus();
      if (absl::Status good = visit(reader, node); !good.ok()) return good;
    }
  }

  absl::Status List(std::string path) {
    if (!path.starts_with(prefix_)) return absl::OkStatus();
    const bool searches = !search_.empty();
    if (searches && !absl::StrContains(absl::AsciiStrToLower(path), search_)) {
      return absl::OkStatus();
    }
    const std::size_t slash = searches ? std::string::npos : path.find('/', prefix_.size());
    const bool is_node = slash == std::string::npos;
    if (!is_node) path.resize(slash);
    Listed& listed = names_[std::move(path)];
    if (is_node) {
      listed.is_node = true;
    } else {
      ++listed.below;
    }
    if (names_.size() <= kMaxGraphNames) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat(
        "over ", kMaxGraphNames, " nodes; ask for a scope, or search for a part of a name"));
  }

  void TakePage() {
    reply_->total = names_.size();
    const std::size_t limit =
        request_.limit == 0 ? kMaxGraphPage : std::min(request_.limit, kMaxGraphPage);
    auto name = request_.after.empty() ? names_.begin() : names_.upper_bound(request_.after);
    for (; name != names_.end() && reply_->nodes.size() < limit; ++name) {
      auto node = std::make_unique<msg::GraphNodeT>();
      node->name = name->first;
      node->nodes = name->second.below;
      if (name->second.is_node) on_page_[name->first] = node.get();
      reply_->nodes.push_back(std::move(node));
    }
    more_ = name != names_.end();
  }

  absl::Status Show(GraphReader& reader, const GraphNode& node) {
    const auto found = on_page_.find(PathOf(node));
    // If several nodes have the same name, shows the first.
    if (found == on_page_.end() || found->second == nullptr) return absl::OkStatus();
    msg::GraphNodeT* const message = std::exchange(found->second, nullptr);
    message->op = runtime::LossyUtf8(node.op.substr(0, kMaxNodeListBytes));
    message->device = runtime::LossyUtf8(node.device.substr(0, kMaxNodeListBytes));
    message->scope = runtime::LossyUtf8(node.scope.substr(0, kMaxNodeListBytes));
    BoundedList inputs;
    for (const GraphInput& input : node.inputs) {
      if (!inputs.Takes(input.id.size())) break;
      needed_.emplace(IdIn(node.function, Split(input.id).id), std::string());
      inputs_[message].push_back(
          {std::string(node.function), std::string(input.id), input.control});
    }
    BoundedList attributes;
    for (const eventlog::GraphAttribute& attribute : node.attributes) {
      auto json = reader.AttributeJson(attribute);
      auto pair = std::make_unique<msg::KeyValueT>();
      pair->key = runtime::LossyUtf8(attribute.name);
      // Shows a damaged attribute as null; the other attributes are intact.
      pair->value = json.ok() ? *std::move(json) : "null";
      if (!attributes.Takes(pair->key.size() + pair->value.size())) break;
      message->attributes.push_back(std::move(pair));
    }
    shown_[IdIn(node.function, node.id)].message = message;
    return absl::OkStatus();
  }

  absl::Status Connect(const GraphNode& node) {
    if (const auto needed = needed_.find(IdIn(node.function, node.id)); needed != needed_.end()) {
      if (needed->second.empty()) needed->second = PathOf(node);
    }
    for (const GraphInput& input : node.inputs) {
      const auto shown = shown_.find(IdIn(node.function, Split(input.id).id));
      if (shown == shown_.end()) continue;
      std::string path = absl::StrCat(input.control ? "^" : "", PathOf(node));
      auto& outputs = shown->second.message->outputs;
      // A node that uses two outputs of this node is listed once.
      if (!outputs.empty() && outputs.back() == path) continue;
      if (shown->second.outputs.Takes(path.size())) outputs.push_back(std::move(path));
    }
    return absl::OkStatus();
  }

  void NameInputs() {
    for (auto& [message, inputs] : inputs_) {
      BoundedList bound;
      for (const Input& input : inputs) {
        const Reference reference = Split(input.id);
        const std::string& name = needed_[IdIn(input.function, reference.id)];
        std::string text =
            absl::StrCat(input.control ? "^" : "",
                         name.empty() ? runtime::LossyUtf8(input.id)
                                      : absl::StrCat(name, runtime::LossyUtf8(reference.output)));
        if (!bound.Takes(text.size())) break;
        message->inputs.push_back(std::move(text));
      }
    }
  }

  void CutToSize() {
    std::size_t bytes = 0;
    std::size_t fit = 0;
    for (const auto& node : reply_->nodes) {
      bytes += node->name.size() + node->op.size() + node->device.size() + node->scope.size() + 64;
      for (const std::string& input : node->inputs) bytes += input.size() + 16;
      for (const std::string& output : node->outputs) bytes += output.size() + 16;
      for (const auto& pair : node->attributes) bytes += pair->key.size() + pair->value.size() + 32;
      // Accepts the first node whatever its size; otherwise the next page would be the same.
      if (fit != 0 && bytes > kMaxGraphPageBytes) break;
      ++fit;
    }
    more_ = more_ || fit < reply_->nodes.size();
    reply_->nodes.resize(fit);
    if (more_ && fit != 0) reply_->next = reply_->nodes.back()->name;
  }

  struct Input {
    std::string function;
    std::string id;
    bool control = false;
  };

  const GraphReader::Format format_;
  const std::string_view graph_;
  const GraphPageRequest& request_;
  const std::string prefix_;
  const std::string search_;  // In lower case.
  msg::ReadGraphReplyT* const reply_;
  Names names_;
  bool more_ = false;
  // Nodes of the page by name; null once the node was read.
  std::unordered_map<std::string, msg::GraphNodeT*> on_page_;
  std::unordered_map<std::string, Shown> shown_;         // By IdIn().
  std::unordered_map<std::string, std::string> needed_;  // IdIn() to name.
  std::unordered_map<msg::GraphNodeT*, std::vector<Input>> inputs_;
};

}  // namespace

absl::Status FillGraphPage(GraphReader::Format format, std::string_view graph,
                           const GraphPageRequest& request, msg::ReadGraphReplyT* reply) {
  return Page(format, graph, request, reply).Fill();
}

}  // namespace datamanager
