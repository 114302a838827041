#include "tuning/engine/trial_command.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuning/space/config.h"

namespace tuning {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Config kConfig = {{"lr", "1e-05"},          {"flip", "true"}, {"cut", "false"},
                        {"name", "\"a b\""},      {"none", "null"}, {"sizes", "[64,\"x\",true]"},
                        {"model.act", "\"relu\""}};

std::vector<std::string> Command(const std::vector<std::string>& words, bool python = false,
                                 const Config& config = kConfig) {
  const auto argv =
      TrialCommand(words, config, {.python_args = python, .config_file = "/runs/t/params.json"});
  EXPECT_TRUE(argv.ok()) << argv.status();
  return argv.value_or(std::vector<std::string>());
}

TEST(TrialCommandTest, AMacroIsAWholeWordAndOtherWordsStay) {
  EXPECT_THAT(Command({"bash", "-c", "train ${args}", "${HOME}", "${args_json_file}", ""}),
              ElementsAre("bash", "-c", "train ${args}", "${HOME}", "/runs/t/params.json", ""));
  EXPECT_THAT(Command({"train"}), ElementsAre("train"));
}

TEST(TrialCommandTest, EachMacroHasItsForm) {
  EXPECT_THAT(Command({"t", "${args}", "x"}),
              ElementsAre("t", "--lr=1e-05", "--flip=true", "--cut=false", "--name=a b",
                          "--none=null", R"(--sizes=[64,"x",true])", "--model.act=relu", "x"));
  const Config two = {{"lr", "0.1"}, {"flip", "true"}, {"cut", "false"}};
  EXPECT_THAT(Command({"${args_no_equals}"}, false, two),
              ElementsAre("--lr", "0.1", "--flip", "true", "--cut", "false"));
  EXPECT_THAT(Command({"${args_no_hyphens}"}, false, two),
              ElementsAre("lr=0.1", "flip=true", "cut=false"));
  EXPECT_THAT(Command({"${args_no_boolean_flags}"}, false, two), ElementsAre("--lr=0.1", "--flip"));
  EXPECT_THAT(Command({"${args_append_hydra}"}, false, two),
              ElementsAre("+lr=0.1", "+flip=true", "+cut=false"));
  EXPECT_THAT(Command({"${args_override_hydra}"}, false, two),
              ElementsAre("++lr=0.1", "++flip=true", "++cut=false"));
  EXPECT_THAT(Command({"${args_json}"}, false, two),
              ElementsAre(R"({"lr":0.1,"flip":true,"cut":false})"));
}

TEST(TrialCommandTest, PythonSpellsValuesItsWay) {
  EXPECT_THAT(Command({"${args}"}, true),
              ElementsAre("--lr=1e-05", "--flip=True", "--cut=False", "--name=a b", "--none=None",
                          "--sizes=[64, 'x', True]", "--model.act=relu"));
  const Config texts = {{"a", R"(["it's", "\"", "'\"", "a\nb"])"}, {"b", R"({"k": [null, {}]})"}};
  EXPECT_THAT(Command({"${args_no_hyphens}"}, true, texts),
              ElementsAre(R"(a=["it's", '"', '\'"', 'a\nb'])", "b={'k': [None, {}]}"));
  // JSON is unchanged.
  EXPECT_THAT(Command({"${args_json}"}, true, {{"flip", "true"}}), ElementsAre(R"({"flip":true})"));
}

TEST(TrialCommandTest, WhatCannotBeInACommandIsNamed) {
  const auto nul = TrialCommand({"${args}"}, {{"lr", "\"a\\u0000b\""}}, {});
  EXPECT_EQ(nul.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(nul.status().message()), HasSubstr("parameter lr: a NUL"));
  const auto no_json = TrialCommand({"${args}"}, {{"lr", "abc"}}, {});
  EXPECT_THAT(std::string(no_json.status().message()), HasSubstr("parameter lr: abc is no JSON"));
  const auto no_file = TrialCommand({"${args_json_file}"}, {}, {});
  EXPECT_THAT(std::string(no_file.status().message()), HasSubstr("stands for no file"));
}

TEST(TrialCommandTest, NamesInBracesAreTheirValuesInOtherWords) {
  EXPECT_THAT(Command({"t", "--lr={lr}:{model.act}", "{cut}", "{{lr}}", "{other} {} {lr", "{"}),
              ElementsAre("t", "--lr=1e-05:relu", "false", "{lr}", "{other} {} {lr", "{"));
  EXPECT_THAT(Command({"{flip}"}, true), ElementsAre("True"));
}

TEST(TrialCommandTest, AConfigurationMakesADifferenceOnlyToAMacro) {
  EXPECT_TRUE(HasConfigMacro({"a", "${args_json}"}));
  EXPECT_FALSE(HasConfigMacro({"a", "${program}", "--x=${args}"}));
}

}  // namespace
}  // namespace tuning
