#include "tools/yard/trial/trial_template.h"

#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::HasSubstr;

std::string Fill(const std::string& text) {
  const auto config = TrialConfig::parse(
      R"({"lr":0.1,"n":3,"name":"a b","on":true,"none":null,"list":[1,2],"net":{"depth":4}})");
  const auto filled = FillTemplate(text, TemplateValues({.config = config}, 7));
  return filled.ok() ? *filled : "ERR " + std::string(filled.status().message());
}

TEST(TrialTemplateTest, FillsInValues) {
  const std::map<std::string, std::string> expected = {
      {"--lr={lr}", "--lr=0.1"},   {"{n}{n}", "33"},
      {"{name}", "a b"},           {"{on} {none}", "true null"},
      {"{list}", "[1,2]"},         {"{net/depth}", "4"},
      {"{net}", R"({"depth":4})"}, {"run-{index}", "run-7"},
      {"plain", "plain"},          {"", ""},
  };
  for (const auto& [text, filled] : expected) EXPECT_EQ(Fill(text), filled) << text;
}

TEST(TrialTemplateTest, OtherBracesStay) {
  for (const char* text : {"{}", "{", "}", "{ lr }", R"({"t":"report"})", "{lr", "a{b c}", "}}"}) {
    EXPECT_EQ(Fill(text), text);
  }
  EXPECT_EQ(Fill("{{lr}}"), "{lr}");
  EXPECT_EQ(Fill("{{"), "{");
  EXPECT_EQ(Fill("{{lr}"), "{lr}");
  EXPECT_EQ(Fill("${{x}}"), "${x}");
  EXPECT_EQ(Fill(R"({"a":{"lr":{lr}}})"), R"({"a":{"lr":0.1}})");
}

TEST(TrialTemplateTest, AnUnknownNameIsAnErrorWithThoseThereAre) {
  EXPECT_THAT(Fill("{rate}"), HasSubstr("nothing is called {rate}; there is index, list, lr, n"));
  EXPECT_THAT(Fill("${HOME}"), HasSubstr("write {{HOME}}"));
}

TEST(TrialTemplateTest, TheConfigurationsOwnIndexCounts) {
  EXPECT_EQ(TemplateValues({.config = TrialConfig::parse(R"({"index":"x"})")}, 7).at("index"), "x");
}

TEST(TrialTemplateTest, AValueIsNotFilledAgain) {
  const auto values = TemplateValues({.config = TrialConfig::parse(R"({"a":"{b}","b":1})")}, 0);
  EXPECT_EQ(*FillTemplate("{a}", values), "{b}");
}

absl::StatusOr<std::vector<TrialDraft>> Draft(const TrialDraft& pattern) {
  return DraftTrials(pattern, {{.config = TrialConfig::parse(R"({"lr":0.1,"data":"a/b"})")},
                               {.config = TrialConfig::parse(R"({"lr":0.2,"data":"c"})")}});
}

TEST(TrialTemplateTest, DraftsOneTrialForEachConfiguration) {
  const auto drafts = Draft({"run-{lr}", {"prog", "--lr={lr}"}, "", "/runs/{index}"});
  ASSERT_TRUE(drafts.ok()) << drafts.status();
  ASSERT_EQ(drafts->size(), 2u);
  EXPECT_EQ(drafts->at(1).name, "run-0.2");
  EXPECT_THAT(drafts->at(1).argv, ::testing::ElementsAre("prog", "--lr=0.2"));
  EXPECT_EQ(drafts->at(1).config, R"({"lr":0.2,"data":"c"})");
  EXPECT_EQ(drafts->at(1).logdir, "/runs/1");
  EXPECT_EQ(Draft({"", {"prog"}, "", ""})->at(0).name, "") << "the id will be its name";
}

TEST(TrialTemplateTest, ANumberOfTheGridIsWrittenAsItWasTyped) {
  const auto drafts =
      DraftTrials({"lr={lr}", {"prog", "{lr}"}, "", ""},
                  {{.config = TrialConfig::parse(R"({"lr":0.0001})"), .typed = {{"lr", "1e-4"}}}});
  ASSERT_TRUE(drafts.ok()) << drafts.status();
  EXPECT_EQ(drafts->front().name, "lr=1e-4");
  EXPECT_THAT(drafts->front().argv, ::testing::ElementsAre("prog", "1e-4"));
  EXPECT_EQ(drafts->front().config, R"({"lr":0.0001})");
}

TEST(TrialTemplateTest, OneTrialHasTheValuesOfItsConfigurationAndKeepsOtherBraces) {
  const auto draft = DraftTrial({"run-{lr}",
                                 {"sh", "--lr={lr}", "${HOME} {x} {{x}} {{lr}} {{ {", "{net/d}"},
                                 R"({"lr":0.1,"net":{"d":3}})",
                                 "/runs/{lr}"});
  ASSERT_TRUE(draft.ok()) << draft.status();
  EXPECT_EQ(draft->name, "run-0.1");
  EXPECT_EQ(draft->logdir, "/runs/0.1");
  EXPECT_THAT(draft->argv,
              ::testing::ElementsAre("sh", "--lr=0.1", "${HOME} {x} {{x}} {lr} {{ {", "3"));
  EXPECT_THAT(DraftTrial({"", {"a{lr}"}, "", ""})->argv, ::testing::ElementsAre("a{lr}"));
  EXPECT_FALSE(DraftTrial({"", {"a"}, "[1]", ""}).ok());
}

TEST(TrialTemplateTest, NamesThatCannotBeAreRefusedBeforeAnythingStarts) {
  const auto error = [](const std::string& name) {
    const auto status = Draft({name, {"prog"}, "", ""}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    return std::string(status.message());
  };
  EXPECT_THAT(error("same"), HasSubstr("two trials would be called same"));
  EXPECT_THAT(error("{data}"), HasSubstr("called \"a/b\""));
  EXPECT_THAT(error(".{lr}"), HasSubstr("neither . nor - in front"));
  EXPECT_THAT(error("-{lr}"), HasSubstr("neither . nor - in front"));
  EXPECT_THAT(error(std::string(201, 'a')), HasSubstr("201 bytes, more than 200"));
  EXPECT_THAT(error("a\tb{lr}"), HasSubstr("no control character"));
  EXPECT_THAT(error("{no}"), HasSubstr("nothing is called {no}"));
}

}  // namespace
}  // namespace yard
