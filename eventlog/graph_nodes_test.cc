#include "eventlog/graph_nodes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace eventlog {
namespace {

using testing::Bytes;
using testing::Float;
using testing::Number;
using Format = GraphReader::Format;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Returns a row "NAME(OP) < INPUT ^CONTROL" for each node, after "FUNCTION:" for one in a function.
std::vector<std::string> NodesOf(Format format, const std::string& graph) {
  std::vector<std::string> rows;
  GraphReader reader(format, graph);
  GraphNode node;
  for (;;) {
    const auto more = reader.Next(&node);
    EXPECT_TRUE(more.ok()) << more.status();
    if (!more.ok() || !*more) return rows;
    std::string row;
    if (!node.function.empty()) row = std::string(node.function) + ":";
    row += node.name + "(" + std::string(node.op) + ")";
    for (const GraphInput& input : node.inputs) {
      row += (input.control ? " ^" : " <") + std::string(input.id);
    }
    rows.push_back(row);
  }
}

TEST(GraphNodesTest, AGraphDefHasNodesAndFunctions) {
  const std::string graph =
      Bytes(1, Bytes(1, "net/x") + Bytes(2, "Placeholder") + Bytes(4, "/cpu:0")) +
      Bytes(4, "versions") +
      Bytes(2, Bytes(1, Bytes(1, Bytes(1, "inner")) + Bytes(3, Bytes(1, "y") + Bytes(2, "Mul"))) +
                   Bytes(1, Bytes(3, Bytes(1, "z") + Bytes(2, "Add")) +
                                Bytes(3, Bytes(1, "w") + Bytes(2, "Sub")) +
                                Bytes(1, Bytes(1, "outer")))) +
      Bytes(1, Bytes(1, "net/b/out") + Bytes(2, "Identity") + Bytes(3, "net/x:1") +
                   Bytes(3, "^net/x"));
  EXPECT_EQ(NodesOf(Format::kTensorFlow, graph),
            (std::vector<std::string>{"net/x(Placeholder)", "inner:y(Mul)", "outer:z(Add)",
                                      "outer:w(Sub)", "net/b/out(Identity) <net/x:1 ^net/x"}));
}

TEST(GraphNodesTest, ANodeSaysWhereItIs) {
  const std::string graph =
      Bytes(1, Bytes(1, "net/b/out") + Bytes(4, "/gpu:0")) + Bytes(1, Bytes(1, "top"));
  GraphReader reader(Format::kTensorFlow, graph);
  GraphNode node;
  ASSERT_TRUE(*reader.Next(&node));
  EXPECT_EQ(node.scope, "net/b");
  EXPECT_EQ(node.device, "/gpu:0");
  EXPECT_EQ(node.id, "net/b/out");
  ASSERT_TRUE(*reader.Next(&node));
  EXPECT_EQ(node.scope, "");
  EXPECT_EQ(node.device, "");
  EXPECT_FALSE(*reader.Next(&node));
  EXPECT_FALSE(*reader.Next(&node));
}

TEST(GraphNodesTest, AttributesOfTensorFlowAreJson) {
  struct Row {
    std::string value;
    const char* json;
  };
  const std::string shape = Bytes(2, Number(1, ~std::uint64_t{0})) + Bytes(2, Number(1, 3));
  const Row rows[] = {
      {Bytes(2, "SAME"), "\"SAME\""},
      {Number(3, 5), "5"},
      {Float(4, 0.5F), "0.5"},
      {Number(5, 1), "true"},
      {Number(6, 1), "\"float32\""},
      {Bytes(7, shape), R"({"dim":[-1,3]})"},
      {Bytes(8, Number(1, 3) + Bytes(2, shape) + Bytes(4, "content")),
       R"({"dtype":"int32","shape":{"dim":[-1,3]}})"},
      {Bytes(1, Number(3, 1) + Number(3, 2)), "[1,2]"},
      {Bytes(1, ""), "null"},
      {Bytes(10, Bytes(1, "f")), R"({"name":"f"})"},
      {"", "null"},
  };
  for (const Row& row : rows) {
    const std::string graph =
        Bytes(1, Bytes(1, "x") + Bytes(5, Bytes(1, "key") + Bytes(2, row.value)));
    GraphReader reader(Format::kTensorFlow, graph);
    GraphNode node;
    ASSERT_TRUE(*reader.Next(&node));
    ASSERT_EQ(node.attributes.size(), 1u);
    EXPECT_EQ(node.attributes[0].name, "key");
    const auto json = reader.AttributeJson(node.attributes[0]);
    ASSERT_TRUE(json.ok()) << json.status();
    EXPECT_EQ(*json, row.json);
  }
}

TEST(GraphNodesTest, MindSporesNodesAreNamedAsMindInsightNamesThem) {
  const auto node = [](std::string_view name, std::string_view op, std::string_view scope,
                       std::string_view full_name, const std::string& rest = "") {
    return Bytes(1, Bytes(2, name) + Bytes(3, op) + Bytes(4, scope) +
                        (full_name.empty() ? "" : Bytes(8, full_name)) + rest);
  };
  const std::string inputs = Bytes(1, Bytes(1, "1")) +
                             Bytes(1, Bytes(1, "Default/Add-op5") + Number(2, 1)) +
                             Bytes(1, Number(2, 1));
  const std::string graph =
      node("1", "Conv2D", "Default/net", "Default/net/Conv2D-op1") +
      node("op2", "ScalarSummary", "Default", "loss[:Scalar]") + node("3", "Add", "", "") +
      node("Default/Add-op5", "Add", "Default", "") + node("Default/loop", "Add", "", "") +
      node("", "Nameless", "", "nameless") + Bytes(2, "the graph") + Bytes(3, Bytes(1, "weight")) +
      Bytes(3, Bytes(2, "type")) + node("4", "Sum", "Default", "Default/Sum", inputs) +
      Bytes(5, Bytes(1, "cst1") + Bytes(2, Number(1, 4) + Number(3, 7)));
  EXPECT_EQ(NodesOf(Format::kMindSpore, graph),
            (std::vector<std::string>{
                "Default/net/Conv2D-op1(Conv2D)", "Default/ScalarSummary-opop2(ScalarSummary)",
                "Add-op3(Add)", "Default/Add-op5(Add)", "Add-oploop(Add)", "weight(Parameter)",
                "Default/Sum(Sum) <1 ^5", "cst1(Const)"}));
}

TEST(GraphNodesTest, AttributesOfMindSporeAreJson) {
  const std::string float_tensor =
      Number(1, 14) +
      Bytes(2, Number(1, 11) + Bytes(2, Bytes(1, Number(1, 2)) + Bytes(1, Number(1, 5))));
  const std::string graph =
      Bytes(1, Bytes(2, "1") +
                   Bytes(5, Bytes(1, "pad") + Bytes(2, Number(1, 13) + Bytes(7, "same"))) +
                   Bytes(5, Bytes(1, "kernel") + Bytes(2, Number(1, 31) + Bytes(18, Number(3, 5)) +
                                                              Bytes(18, Number(3, 6)))) +
                   Bytes(6, float_tensor)) +
      Bytes(3, Bytes(1, "weight") + Bytes(2, float_tensor)) +
      Bytes(5, Bytes(1, "cst1") + Bytes(2, Number(1, 11) + Float(5, 0.1F)));
  const char* const type =
      R"({"data_type":14,"tensor_type":{"elem_type":"float32","shape":{"dim":[2,5]}}})";
  GraphReader reader(Format::kMindSpore, graph);
  GraphNode node;
  const auto json = [&](std::size_t i) {
    const auto text = reader.AttributeJson(node.attributes.at(i));
    EXPECT_TRUE(text.ok()) << text.status();
    return std::string(node.attributes.at(i).name) + "=" + (text.ok() ? *text : "");
  };
  ASSERT_TRUE(*reader.Next(&node));
  ASSERT_EQ(node.attributes.size(), 3u);
  EXPECT_EQ(json(0), "pad=\"same\"");
  EXPECT_EQ(json(1), "kernel=[5,6]");
  EXPECT_EQ(json(2), std::string("output_type=") + type);
  ASSERT_TRUE(*reader.Next(&node));
  EXPECT_EQ(json(0), std::string("output_type=") + type);
  ASSERT_TRUE(*reader.Next(&node));
  EXPECT_EQ(json(0), "cst1=0.1");
}

TEST(GraphNodesTest, NodesBeforeTheDamageAreRead) {
  const std::string graph = Bytes(1, Bytes(1, "x")) + Bytes(1, Number(1, 1)) + Bytes(1, "");
  for (const Format format : {Format::kTensorFlow, Format::kMindSpore}) {
    const std::string whole =
        format == Format::kTensorFlow ? graph : Bytes(1, Bytes(2, "x")) + Bytes(1, Number(2, 1));
    GraphReader reader(format, whole);
    GraphNode node;
    ASSERT_TRUE(*reader.Next(&node));
    EXPECT_EQ(node.id, "x");
    EXPECT_EQ(reader.Next(&node).status().code(), kInvalid);
    EXPECT_EQ(reader.Next(&node).status().code(), kInvalid);  // The error persists.
  }
}

TEST(GraphNodesTest, AnAttributeMayBeDamagedAlone) {
  const std::string graph = Bytes(1, Bytes(1, "x") + Bytes(5, Bytes(2, Bytes(3, "i"))));
  GraphReader reader(Format::kTensorFlow, graph);
  GraphNode node;
  ASSERT_TRUE(*reader.Next(&node));
  EXPECT_EQ(reader.AttributeJson(node.attributes.at(0)).status().code(), kInvalid);
}

TEST(GraphNodesTest, AHugeGraphIsReadNodeByNode) {
  std::string graph;
  for (int i = 0; i < 100'000; ++i) graph += Bytes(1, Bytes(1, "n" + std::to_string(i)));
  GraphReader reader(Format::kTensorFlow, graph);
  GraphNode node;
  int nodes = 0;
  while (*reader.Next(&node)) ++nodes;
  EXPECT_EQ(nodes, 100'000);
  EXPECT_EQ(node.name, "n99999");
}

TEST(GraphNodesTest, GraphsAreFoundInsideOfModels) {
  const std::string meta = Bytes(1, "info") + Bytes(2, "graph");
  EXPECT_EQ(*GraphOfMetaGraph(meta), "graph");
  EXPECT_EQ(*GraphOfMetaGraph(""), "");
  EXPECT_EQ(GraphOfMetaGraph(Number(2, 1)).status().code(), kInvalid);
  const std::string model = Number(1, 1) + Bytes(4, "graph");
  EXPECT_EQ(*GraphOfModel(model), "graph");
  EXPECT_EQ(GraphOfModel(Number(1, 1)).status().code(), kInvalid);
  EXPECT_EQ(GraphOfModel("#!/bin/sh\n").status().code(), kInvalid);
}

}  // namespace
}  // namespace eventlog
