#include "runtime/query/query_error.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace runtime {
namespace {

using ::testing::HasSubstr;

std::string Text(const absl::Status& status) {
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(QueryErrorTest, PointsAtTheColumn) {
  EXPECT_EQ(Text(QueryError("query", "loss< & label:base", 5, "expected a number behind <")),
            "query, column 6: expected a number behind <\n"
            "  loss< & label:base\n"
            "       ^");
}

TEST(QueryErrorTest, PointsAtTheEndAndIntoNothing) {
  EXPECT_EQ(Text(QueryError("query", "ab", 2, "m")), "query, column 3: m\n  ab\n    ^");
  EXPECT_EQ(Text(QueryError("query", "", 0, "m")), "query, column 1: m\n  \n  ^");
}

TEST(QueryErrorTest, CountsCharacters) {
  EXPECT_EQ(Text(QueryError("query", "häß€ <", 9, "m")), "query, column 6: m\n  häß€ <\n       ^");
}

TEST(QueryErrorTest, IsThreeLinesWhateverTheQueryHolds) {
  EXPECT_EQ(Text(QueryError("query",
                            "a\nb\tc\x1b\xff"
                            "d\xc3",
                            7, "m")),
            "query, column 8: m\n  a b c??d?\n         ^");
}

TEST(QueryErrorTest, IsThreeLinesWhateverTheMessageHolds) {
  EXPECT_EQ(Text(QueryError("query", "a", 0, "missing ]: [\n\x1b")),
            "query, column 1: missing ]: [ ?\n  a\n  ^");
}

TEST(QueryErrorTest, ShowsThePartAroundTheColumnOfALongQuery) {
  const std::string query = std::string(100, 'a') + "!" + std::string(100, 'b');
  EXPECT_EQ(Text(QueryError("query", query, 100, "m")),
            "query, column 101: m\n  ..." + std::string(48, 'a') + "!" + std::string(23, 'b') +
                "...\n     " + std::string(48, ' ') + "^");
  EXPECT_EQ(Text(QueryError("query", query, 0, "m")),
            "query, column 1: m\n  " + std::string(72, 'a') + "...\n  ^");
  EXPECT_THAT(Text(QueryError("query", query, query.size(), "m")),
              HasSubstr("\n  ..." + std::string(72, 'b') + "\n     " + std::string(72, ' ') + "^"));
}

TEST(QueryErrorTest, QuotesShortWordsOnly) {
  EXPECT_EQ(QuotedWord("a\nb"), "\"a b\"");
  EXPECT_EQ(QuotedWord(std::string(41, 'x')), "\"" + std::string(40, 'x') + "...\"");
}

}  // namespace
}  // namespace runtime
