#include "tools/yard/sweep/sweep_node.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/yard/text/yaml.h"
#include "tuning/engine/plan_reader.h"

namespace yard {
namespace {

using testing::HasSubstr;

YamlNode Parsed(const std::string& text) {
  auto root = ParseYaml(text, "f");
  EXPECT_TRUE(root.ok()) << root.status();
  return root.value_or(YamlNode());
}
std::string Json(const std::string& text) { return tuning::NodeJson(NodeOf(Parsed(text))); }

TEST(SweepNodeTest, ValuesAreWhatTheyAreWrittenAs) {
  EXPECT_EQ(Json("[1, -2, 1e-4, 1E5, .5, 2., +3, +.5e+1]"), "[1,-2,1e-4,1E5,0.5,2.0,3,0.5e+1]");
  EXPECT_EQ(Json("[true, False, null, ~, 'true', \"1\"]"), R"([true,false,null,null,"true","1"])");
  EXPECT_EQ(Json("[007, 1_000, 0x10, ., e5, 1e, 1.2.3, -, yes, .inf, a: 1]"),
            R"(["007","1_000","0x10",".","e5","1e","1.2.3","-","yes",".inf",{"a":1}])");
  EXPECT_EQ(Json("b: \"q\\\"\\n\"\na: {z: 1, y: [{}]}\n"), R"({"b":"q\"\n","a":{"z":1,"y":[{}]}})");
  EXPECT_EQ(Json("{\"a\": [0.10, 12345678901234567890, -0]}"),
            R"({"a":[0.10,12345678901234567890,-0]})");
}

TEST(SweepNodeTest, AValueOfAMapIsWhereItsKeyIs) {
  const tuning::PlanNode node = NodeOf(Parsed("a:\n  b:\n    c: 1\nd: [x]\n"));
  EXPECT_EQ(node.entries[0].second.line, 1);
  const tuning::PlanNode& b = node.entries[0].second.entries[0].second;
  EXPECT_EQ(b.line, 2);
  EXPECT_EQ(b.column, 3);
  EXPECT_EQ(node.entries[1].second.items[0].column, 5);
}

std::string Set(const std::string& text, const std::vector<std::string>& assignments) {
  YamlNode root = Parsed(text);
  for (const std::string& one : assignments) {
    const absl::Status status = SetByPath(one, &root);
    if (!status.ok()) return std::string(status.message());
  }
  return tuning::NodeJson(NodeOf(root));
}

TEST(SweepNodeTest, PathsSetValues) {
  EXPECT_EQ(Set("method: grid", {"method=tpe", "run_cap=5", "metric.name=loss"}),
            R"({"method":"tpe","run_cap":5,"metric":{"name":"loss"}})");
  EXPECT_EQ(Set("parameters: {opt.lr: {min: 0, max: 1}, opt: {value: 1}}",
                {"parameters.opt.lr.max=0.5", "parameters.opt.value=[1, {a: 2}]"}),
            R"({"parameters":{"opt.lr":{"min":0,"max":0.5},"opt":{"value":[1,{"a":2}]}}})");
  EXPECT_EQ(Set("a: 1", {"a=", "b='x=y'"}), R"({"a":null,"b":"x=y"})");
}

TEST(SweepNodeTest, PathsThatCannotBeAreNamed) {
  for (const char* wrong : {"a", "=1", ".a=1", "a.=1", "a..b=1"}) {
    EXPECT_THAT(Set("a: 1", {wrong}), HasSubstr("--set: expected KEY=VALUE")) << wrong;
  }
  EXPECT_EQ(Set("a: 1", {"a.b=1"}), "--set a.b: a. has no keys");
  EXPECT_THAT(Set("a: 1", {"a=[1"}), HasSubstr("--set a:1:"));
}

}  // namespace
}  // namespace yard
