#include "datamanager/brief/run_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "datamanager/brief/run_config.h"
#include "datamanager/query/run_facts.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace datamanager {
namespace {

using eventlog::testing::Bytes;
using eventlog::testing::Double;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

// Returns "name=text;" for each fact; strings are quoted.
std::string Joined(std::span<const ConfigFacts> facts) {
  std::string text;
  for (const ConfigFacts& fact : facts) {
    const std::string quote = fact.is_text ? "\"" : "";
    text += std::string(fact.name) + "=" + quote + std::string(fact.text) + quote + ";";
  }
  return text;
}
std::string Of(const Words& argv, const std::string& commit = "") {
  return Joined(CommandParameters(argv, commit).facts());
}

TEST(CommandParametersTest, FlagsAndAssignmentsAreParameters) {
  EXPECT_EQ(Of({"python3", "t.py", "--lr", "0.1", "--batch-size=32", "--fast", "--name", "a b"}),
            R"(batch_size=32;command="python3 t.py";fast=true;lr=0.1;name="a b";)");
  EXPECT_EQ(Of({"./train", "model.depth=3", "data=/d", "--shift", "-0.5", "--on=true"}),
            R"(command="./train";data="/d";model.depth=3;on=true;shift=-0.5;)");
  EXPECT_EQ(Of({"t", "--x", "1", "--x", "b"}), R"(command="t";x=[1,"b"];)");
  EXPECT_EQ(Of({"t", "--empty="}), R"(command="t";empty="";)");
}

TEST(CommandParametersTest, OtherWordsAreTheCommand) {
  EXPECT_EQ(Of({"sh", "-c", "x=1; echo $x", "a b"}), R"(command="sh -c 'x=1; echo $x' 'a b'";)");
  EXPECT_EQ(Of({"t", "--", "--lr", "0.1"}), R"(command="t -- --lr 0.1";)");
  EXPECT_EQ(Of({"--lr", "--lr", "--"}), R"(command="--lr --";lr=true;)");
  EXPECT_EQ(Of({"t", "--1=2", "=x", "-n"}), R"(command="t --1=2 '=x' -n";)");
  EXPECT_EQ(Of({}, ""), "");
  EXPECT_EQ(Of({"t"}, "abc-dirty"), R"(command="t";commit="abc-dirty";)");
}

TEST(CommandParametersTest, HostileWordsHaveBounds) {
  const std::string lengthy(1 << 20, 'x');
  Words argv = {lengthy, "--v=" + lengthy, "--w", lengthy};
  for (int i = 0; i < 5000; ++i) argv.push_back("--p" + std::to_string(i) + "=1");
  const RunConfig config = CommandParameters(argv, "");
  EXPECT_LE(config.facts().size(), 1002u);
  for (const ConfigFacts& fact : config.facts()) EXPECT_LT(fact.text.size(), 5000u) << fact.name;
}

TEST(PluginParametersTest, AreThoseOfTheStartOfASession) {
  const std::string entry = Bytes(1, Bytes(1, "rate") + Bytes(2, Double(2, 0.5)));
  EXPECT_EQ(Joined(PluginParameters(Bytes(3, entry)).facts()), "rate=0.5;");
  for (const std::string& other : {std::string(), std::string(20, '\xff'), Bytes(4, "")}) {
    EXPECT_THAT(PluginParameters(other).facts(), IsEmpty());
  }
}

TEST(LineageParametersTest, AreItsHyperParameters) {
  EXPECT_EQ(Joined(LineageParameters(R"({"hyper_parameters":{"epoch":10,"net":{"d":1}}})").facts()),
            "epoch=10;net/d=1;");
  for (const char* bad : {"", "{", "[]", R"({"hyper_parameters":1})"}) {
    EXPECT_THAT(LineageParameters(bad).facts(), IsEmpty()) << bad;
  }
}

TEST(MergeParametersTest, TheFirstThatHasANameCounts) {
  const RunConfig first = RunConfig::Of({{"b", "1"}, {"d", "1"}});
  const RunConfig second = RunConfig::Of({{"a", "2"}, {"b", "2"}, {"c", "2"}});
  const std::span<const ConfigFacts> sources[] = {first.facts(), second.facts()};
  EXPECT_EQ(Joined(MergeParameters(sources)), "a=2;b=1;c=2;d=1;");
}

TEST(RunsBelowTest, AreThoseDirectlyBelowAndFew) {
  Words names = {".", "a", "a-b", "a/1", "a/1/x", "a/2", "ab", "b"};
  EXPECT_THAT(RunsBelow(names, "a"), ElementsAre("a/1", "a/2"));
  EXPECT_THAT(RunsBelow(names, "b"), IsEmpty());
  EXPECT_THAT(RunsBelow(names, "."), IsEmpty());
  for (int i = 0; i < 100; ++i) names.push_back("z/" + std::to_string(100 + i));
  EXPECT_THAT(RunsBelow(names, "z"), IsEmpty()) << "a directory of runs";
}

}  // namespace
}  // namespace datamanager
