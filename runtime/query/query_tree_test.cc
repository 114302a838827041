#include "runtime/query/query_tree.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/query/query_text.h"

namespace runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Node = QueryNode<std::string>;

// Parses a query whose conditions are words.
absl::StatusOr<Node> Parse(std::string_view query) {
  QueryText text("query", query);
  return ParseQuery<std::string>(&text, [&](std::string& word) {
    const std::size_t start = text.at();
    if (!text.ReadWord(&word)) return false;
    return !word.empty() || text.Fail(start, "expected a word");
  });
}

// Evaluates with "y" true, "n" false and "u" unknown. Appends the words evaluated to `asked`.
Answer Ask(const Node& node, std::string* asked = nullptr) {
  return node.Evaluate([&](const std::string& word) {
    if (asked != nullptr) *asked += word;
    return word == "y" ? Answer::kYes : word == "n" ? Answer::kNo : Answer::kUnknown;
  });
}

TEST(QueryTreeTest, ConnectivesBindAsInOtherLanguages) {
  const struct {
    std::string_view query;
    Answer answer;
  } kRows[] = {
      {"y", Answer::kYes},         {"n", Answer::kNo},
      {"!y", Answer::kNo},         {"!!y", Answer::kYes},
      {"y & n", Answer::kNo},      {"y && y", Answer::kYes},
      {"n | y", Answer::kYes},     {"n || n", Answer::kNo},
      {"n & n | y", Answer::kYes}, {"n & (n | y)", Answer::kNo},
      {"y|n&n", Answer::kYes},     {"!(n | n) & y", Answer::kYes},
      {"!n & n", Answer::kNo},     {" ( ( y ) ) ", Answer::kYes},
      {"u", Answer::kUnknown},     {"!u", Answer::kUnknown},
      {"u & n", Answer::kNo},      {"u & y", Answer::kUnknown},
      {"u | y", Answer::kYes},     {"u | n", Answer::kUnknown},
      {"'y'", Answer::kYes},       {"\"y\" & y", Answer::kYes},
  };
  for (const auto& row : kRows) {
    const auto node = Parse(row.query);
    ASSERT_TRUE(node.ok()) << node.status();
    EXPECT_EQ(Ask(*node), row.answer) << row.query;
  }
}

TEST(QueryTreeTest, WhatCannotChangeTheAnswerIsNotAsked) {
  std::string asked;
  Ask(*Parse("n & y | y | n"), &asked);
  EXPECT_EQ(asked, "ny");
}

TEST(QueryTreeTest, EveryConditionIsVisited) {
  std::vector<std::string> words;
  Parse("a & !(b | c) | d")->ForEach([&](const std::string& word) { words.push_back(word); });
  EXPECT_THAT(words, ElementsAre("a", "b", "c", "d"));
}

TEST(QueryTreeTest, AnErrorPointsAtItsColumn) {
  const struct {
    std::string_view query, error;
  } kRows[] = {
      {"", "column 1: expected a query, not nothing"},
      {"  ", "column 1: expected a query, not nothing"},
      {"a b", "column 3: expected & or | here"},
      {"a)", "column 2: this ) closes nothing"},
      {"(a", "column 3: expected & or |, or a ) for the ( of column 1"},
      {"a & ", "column 5: expected a word"},
      {"ä & & b", "column 5: expected a word"},
      {"a & 'b", "column 5: this quote is not closed"},
  };
  for (const auto& row : kRows) {
    const auto node = Parse(row.query);
    EXPECT_TRUE(absl::IsInvalidArgument(node.status())) << row.query;
    EXPECT_THAT(std::string(node.status().message()), HasSubstr(row.error)) << row.query;
  }
}

TEST(QueryTreeTest, IsBounded) {
  EXPECT_FALSE(Parse(std::string(QueryLimits::kMaxSize + 1, 'a')).ok());
  EXPECT_TRUE(Parse(std::string(QueryLimits::kMaxSize, 'a')).ok());
  EXPECT_TRUE(Parse(std::string(QueryLimits::kMaxDepth, '!') + "a").ok());
  EXPECT_FALSE(Parse(std::string(QueryLimits::kMaxDepth + 1, '!') + "a").ok());
  EXPECT_FALSE(Parse(std::string(QueryLimits::kMaxSize, '(')).ok());
  std::string many = "a";
  for (std::size_t i = 1; i < QueryLimits::kMaxConditions; ++i) many += "|a";
  EXPECT_TRUE(Parse(many).ok());
  EXPECT_FALSE(Parse(many + "|a").ok());
}

TEST(QueryTextTest, AQuotedWordMayHoldAnything) {
  for (const auto& [quoted, word] :
       std::vector<std::pair<std::string, std::string>>{{R"('it\'s')", "it's"},
                                                        {R"("\\d")", R"(\d)"},
                                                        {R"("\d")", R"(\d)"},
                                                        {R"("a 'b' <")", "a 'b' <"},
                                                        {"''", ""}}) {
    QueryText text("query", quoted);
    std::string read;
    EXPECT_TRUE(text.ReadQuoted(&read));
    EXPECT_EQ(read, word);
    EXPECT_TRUE(text.at_end());
  }
}

}  // namespace
}  // namespace runtime
