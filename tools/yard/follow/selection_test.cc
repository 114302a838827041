#include "tools/yard/follow/selection.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::HasSubstr;

msg::TrialT Trial(const std::string& name, msg::TrialState state, std::vector<std::string> labels) {
  msg::TrialT trial;
  trial.name = name;
  trial.state = state;
  trial.labels = std::move(labels);
  return trial;
}

bool Has(const std::string& text, const msg::TrialT& trial) {
  const auto selection = Selection::Parse(text);
  EXPECT_TRUE(selection.ok()) << selection.status();
  return selection.ok() && selection->Has(trial);
}

TEST(SelectionTest, ChoosesByLabelStateAndName) {
  const msg::TrialT trial = Trial("lr-3", msg::TrialState::Failed, {"night", "with space", "a=b"});
  EXPECT_TRUE(Has("label:night", trial));
  EXPECT_TRUE(Has("label:'with space'", trial));
  EXPECT_TRUE(Has("label:\"a=b\"", trial));
  EXPECT_TRUE(Has("label:a=b", trial));
  EXPECT_FALSE(Has("label:nigh", trial));
  EXPECT_TRUE(Has("state:failed", trial));
  EXPECT_FALSE(Has("state:done", trial));
  EXPECT_TRUE(Has("name:lr-*", trial));
  EXPECT_FALSE(Has("name:lr", trial));
  EXPECT_TRUE(Has("state:failed & !label:keep", trial));
  EXPECT_TRUE(Has("!(label:keep | state:done)", trial));
  EXPECT_FALSE(Has("label:night & state:done", trial));
}

TEST(SelectionTest, ANameIsNone) {
  for (const char* word :
       {"first", "t-abcde", "j-abcde/worker-1", "label", "a:b", "", "!", "lab:x"}) {
    EXPECT_FALSE(Selection::IsOne(word)) << word;
  }
  for (const char* word : {"label:x", "!state:done", "(name:a* | name:b*)", " ! label:x"}) {
    EXPECT_TRUE(Selection::IsOne(word)) << word;
  }
}

TEST(SelectionTest, WhatIsWrongIsShown) {
  const auto error = [](const std::string& text) {
    return std::string(Selection::Parse(text).status().message());
  };
  EXPECT_THAT(error("state:faild"), HasSubstr("did you mean failed?"));
  EXPECT_THAT(error("state:zzzzzz"), HasSubstr("expected pending, running"));
  EXPECT_THAT(error("label:"), HasSubstr("expected a word behind label:"));
  EXPECT_THAT(error("label:a & loss<1"), HasSubstr("column 11: expected label:WORD"));
  EXPECT_THAT(error("(label:a"), HasSubstr("a ) for the ("));
  EXPECT_THAT(error("label:'a"), HasSubstr("selection, column"));
  EXPECT_FALSE(Selection::Parse(std::string(5000, '!') + "label:a").ok());
}

}  // namespace
}  // namespace yard
