#include "runtime/text/random_id.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace runtime {
namespace {

TEST(RandomIdTest, NamesAreAPrefixAndFiveLetters) {
  std::set<char> letters;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = RandomName("j-");
    ASSERT_THAT(name, testing::MatchesRegex("j-[a-z][a-z][a-z][a-z][a-z]"));
    letters.insert(name.begin() + 2, name.end());
  }
  EXPECT_EQ(letters.size(), 26u);
}

TEST(RandomIdTest, IdsDiffer) {
  std::set<std::uint64_t> ids;
  std::set<std::string> nonces;
  for (int i = 0; i < 1000; ++i) {
    ids.insert(RandomId());
    nonces.insert(RandomHex128());
  }
  EXPECT_EQ(ids.size(), 1000u);
  EXPECT_EQ(ids.count(0), 0u);
  EXPECT_EQ(nonces.size(), 1000u);
  EXPECT_EQ(nonces.begin()->find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(nonces.begin()->size(), 32u);
}

}  // namespace
}  // namespace runtime
