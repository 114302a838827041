#include "datamanager/tensorboard/mindspore_graph.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "eventlog/graph_nodes.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace datamanager::tensorboard {
namespace {

namespace pb = eventlog::testing;
using eventlog::GraphNode;
using eventlog::GraphReader;

std::string Input(const std::string& id, bool control) {
  return pb::Bytes(1, pb::Bytes(1, id) + pb::Number(2, control ? 1 : 0));
}

// A GraphProto of anf_ir.proto with two nodes and a parameter.
std::string Graph() {
  const std::string conv = Input("weight", false) + pb::Bytes(2, "1") + pb::Bytes(3, "Conv2D") +
                           pb::Bytes(4, "Default/net");
  const std::string relu =
      Input("1", false) + Input("weight", true) + pb::Bytes(2, "2") + pb::Bytes(3, "ReLU");
  return pb::Bytes(1, conv) + pb::Bytes(1, relu) + pb::Bytes(3, pb::Bytes(1, "weight"));
}

TEST(MindSporeGraphTest, NodesAreThoseOfTensorFlow) {
  const auto def = GraphDefOf(Graph());
  ASSERT_TRUE(def.ok()) << def.status();
  GraphReader reader(GraphReader::Format::kTensorFlow, *def);
  std::vector<std::string> names, inputs;
  GraphNode node;
  for (;;) {
    const auto more = reader.Next(&node);
    ASSERT_TRUE(more.ok()) << more.status();
    if (!*more) break;
    names.push_back(node.name + " " + std::string(node.op));
    for (const auto& input : node.inputs) {
      inputs.push_back((input.control ? "^" : "") + std::string(input.id));
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"Default/net/Conv2D-op1 Conv2D", "ReLU-op2 ReLU",
                                             "weight Parameter"}));
  EXPECT_EQ(inputs, (std::vector<std::string>{"weight", "Default/net/Conv2D-op1", "^weight"}));
}

TEST(MindSporeGraphTest, DamageIsSaid) {
  EXPECT_TRUE(absl::IsInvalidArgument(GraphDefOf(Graph() + "\x0a").status()));
}

}  // namespace
}  // namespace datamanager::tensorboard
