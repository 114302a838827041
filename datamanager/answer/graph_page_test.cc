#include "datamanager/answer/graph_page.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace datamanager {
namespace {

using eventlog::testing::Bytes;
using eventlog::testing::Number;
using Format = eventlog::GraphReader::Format;
using Names = std::vector<std::string>;

std::string Node(std::string_view name, std::string_view op, const Names& inputs = {},
                 const std::string& more = "") {
  std::string node = Bytes(1, name) + Bytes(2, op);
  for (const std::string& input : inputs) node += Bytes(3, input);
  return Bytes(1, node + more);
}

// Three nodes in net/, one of which is also a scope, and two outside.
std::string Graph() {
  const std::string stride = Bytes(5, Bytes(1, "stride") + Bytes(2, Number(3, 2)));
  return Node("x", "Placeholder") + Node("net/conv/kernel", "Const") +
         Node("net/conv", "Conv2D", {"x", "net/conv/kernel:1", "^start"},
              Bytes(4, "cpu") + stride) +
         Node("net/bias", "Add", {"net/conv:0", "nowhere:2"}) + Node("start", "NoOp");
}

msg::ReadGraphReplyT Page(std::string_view graph, const GraphPageRequest& request,
                          Format format = Format::kTensorFlow) {
  msg::ReadGraphReplyT reply;
  const absl::Status filled = FillGraphPage(format, graph, request, &reply);
  EXPECT_TRUE(filled.ok()) << filled;
  return reply;
}

// Returns "name(op)" for each node, with "+3" appended if 3 nodes are below it.
Names NodesOf(const msg::ReadGraphReplyT& reply) {
  Names names;
  for (const auto& node : reply.nodes) {
    names.push_back(node->name + "(" + node->op + ")" +
                    (node->nodes == 0 ? "" : "+" + std::to_string(node->nodes)));
  }
  return names;
}

TEST(GraphPageTest, AScopeHasItsNodesAndItsScopes) {
  const std::string graph = Graph();
  EXPECT_EQ(NodesOf(Page(graph, {})), (Names{"net()+3", "start(NoOp)", "x(Placeholder)"}));
  EXPECT_EQ(NodesOf(Page(graph, {.scope = "net"})), (Names{"net/bias(Add)", "net/conv(Conv2D)+1"}));
  EXPECT_EQ(NodesOf(Page(graph, {.scope = "net/conv"})), (Names{"net/conv/kernel(Const)"}));
  msg::ReadGraphReplyT reply;
  for (const char* scope : {"ne", "x", "net/"}) {
    EXPECT_EQ(FillGraphPage(Format::kTensorFlow, graph, {.scope = scope}, &reply).code(),
              absl::StatusCode::kNotFound)
        << scope;
  }
}

TEST(GraphPageTest, ANodeSaysWhatItIsAndWithWhomItIsConnected) {
  const auto reply = Page(Graph(), {.scope = "net"});
  const msg::GraphNodeT& conv = *reply.nodes[1];
  EXPECT_EQ(conv.device, "cpu");
  EXPECT_EQ(conv.scope, "net");
  EXPECT_EQ(conv.inputs, (Names{"x", "net/conv/kernel:1", "^start"}));
  EXPECT_EQ(conv.outputs, (Names{"net/bias"}));
  ASSERT_EQ(conv.attributes.size(), 1u);
  EXPECT_EQ(conv.attributes[0]->key, "stride");
  EXPECT_EQ(conv.attributes[0]->value, "2");
  // An input that is missing from the graph is shown as written.
  EXPECT_EQ(reply.nodes[0]->inputs, (Names{"net/conv", "nowhere:2"}));
  EXPECT_EQ(Page(Graph(), {.search = "start"}).nodes[0]->outputs, (Names{"^net/conv"}));
}

TEST(GraphPageTest, ASearchGoesOverAllThatIsBelowAScope) {
  const std::string graph = Graph();
  EXPECT_EQ(NodesOf(Page(graph, {.search = "N"})),
            (Names{"net/bias(Add)", "net/conv(Conv2D)", "net/conv/kernel(Const)"}));
  EXPECT_EQ(NodesOf(Page(graph, {.scope = "net/conv", .search = "kern"})),
            (Names{"net/conv/kernel(Const)"}));
  EXPECT_TRUE(Page(graph, {.search = "nothing"}).nodes.empty());
}

TEST(GraphPageTest, PagesTogetherAreEverythingOnce) {
  std::string graph;
  for (int i = 0; i < 25; ++i) graph += Node("n" + std::to_string(100 + i), "Op");
  Names all;
  GraphPageRequest request = {.limit = 10};
  for (int pages = 1;; ++pages) {
    const auto reply = Page(graph, request);
    EXPECT_EQ(reply.total, 25u);
    for (const auto& node : reply.nodes) all.push_back(node->name);
    if (reply.next.empty()) {
      EXPECT_EQ(pages, 3);
      break;
    }
    ASSERT_LT(pages, 3);
    request.after = reply.next;
  }
  ASSERT_EQ(all.size(), 25u);
  for (int i = 0; i < 25; ++i)
    EXPECT_EQ(all[static_cast<std::size_t>(i)], "n" + std::to_string(100 + i));
}

TEST(GraphPageTest, NodesOfAFunctionStandInItsScopeAndKnowOnlyEachOther) {
  const std::string body = Bytes(1, Bytes(1, "f")) + Bytes(3, Bytes(1, "a") + Bytes(2, "Op")) +
                           Bytes(3, Bytes(1, "b") + Bytes(2, "Op") + Bytes(3, "a:out:1"));
  const std::string graph = Node("a", "Outside") + Bytes(2, Bytes(1, body));
  EXPECT_EQ(NodesOf(Page(graph, {})), (Names{"a(Outside)", "f()+2"}));
  const auto reply = Page(graph, {.scope = "f"});
  EXPECT_EQ(NodesOf(reply), (Names{"f/a(Op)", "f/b(Op)"}));
  EXPECT_EQ(reply.nodes[0]->outputs, (Names{"f/b"}));
  EXPECT_EQ(reply.nodes[1]->inputs, (Names{"f/a:out:1"}));
  const auto outside = Page(graph, {.search = "a"});
  EXPECT_EQ(NodesOf(outside), (Names{"a(Outside)", "f/a(Op)"}));
  EXPECT_TRUE(outside.nodes[0]->outputs.empty());
}

TEST(GraphPageTest, MindSporesIdsBecomeNames) {
  const std::string graph =
      Bytes(1, Bytes(2, "1") + Bytes(3, "Conv2D") + Bytes(4, "Default")) +
      Bytes(1, Bytes(1, Bytes(1, "1")) + Bytes(2, "2") + Bytes(3, "Add") + Bytes(4, "Default"));
  const auto reply = Page(graph, {.scope = "Default"}, Format::kMindSpore);
  EXPECT_EQ(NodesOf(reply), (Names{"Default/Add-op2(Add)", "Default/Conv2D-op1(Conv2D)"}));
  EXPECT_EQ(reply.nodes[0]->inputs, (Names{"Default/Conv2D-op1"}));
  EXPECT_EQ(reply.nodes[1]->outputs, (Names{"Default/Add-op2"}));
}

TEST(GraphPageTest, ADamagedGraphIsSaidToBe) {
  msg::ReadGraphReplyT reply;
  EXPECT_EQ(FillGraphPage(Format::kTensorFlow, Graph() + Number(1, 1), {}, &reply).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(GraphPageTest, ANodeWithManyInputsIsCutAndTheNextPageGoesOn) {
  const std::string shared(1000, 'i');
  Names inputs;
  for (int i = 0; i < 400; ++i) inputs.push_back(shared);
  std::string graph;
  for (int i = 0; i < 30; ++i) graph += Node("n" + std::to_string(10 + i), "Op", inputs);
  const auto first = Page(graph, {});
  EXPECT_LT(first.nodes[0]->inputs.size(), 300u);
  EXPECT_FALSE(first.nodes[0]->inputs.empty());
  EXPECT_LT(first.nodes.size(), 30u);
  const auto second = Page(graph, {.after = first.next});
  EXPECT_EQ(first.nodes.size() + second.nodes.size(), 30u);
  EXPECT_TRUE(second.next.empty());
}

}  // namespace
}  // namespace datamanager
