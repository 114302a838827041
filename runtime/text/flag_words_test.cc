#include "runtime/text/flag_words.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace runtime {
namespace {

using ::testing::ElementsAre;

TEST(FlagWordsTest, HyphensInTheNameOfAFlagAreUnderscores) {
  std::vector<std::string> words = {"a-b",  "--log-level=a-b", "--stop-grace", "x-y",
                                    "-a-b", "--log_file_mb",   "--",           "--log-level"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  TakeHyphens(static_cast<int>(argv.size()), argv.data());
  EXPECT_THAT(words, ElementsAre("a-b", "--log_level=a-b", "--stop_grace", "x-y", "-a-b",
                                 "--log_file_mb", "--", "--log-level"));
}

}  // namespace
}  // namespace runtime
