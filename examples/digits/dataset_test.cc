#include "examples/digits/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace digits {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Line(const std::string& pixel, const std::string& label) {
  std::string line;
  for (int i = 0; i < kPixels; ++i) line += pixel + ",";
  return line + label + "\n";
}

absl::StatusOr<Dataset> Read(const std::string& text) {
  std::istringstream stream(text);
  return ReadDataset(stream);
}

TEST(DatasetTest, EveryFifthRowIsForTheTest) {
  std::string text;
  for (int i = 0; i < 10; ++i) text += Line(std::to_string(i), std::to_string(i));
  const auto dataset = Read(text);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(dataset->train.labels, ElementsAre(0, 1, 2, 3, 5, 6, 7, 8));
  EXPECT_THAT(dataset->test.labels, ElementsAre(4, 9));
  EXPECT_EQ(dataset->test.pixels.cols(), 2);
  EXPECT_EQ(dataset->test.pixels(63, 0), 4 / 16.f);
}

TEST(DatasetTest, TakesTheLineEndsOfWindows) {
  std::string text;
  for (int i = 0; i < 5; ++i) text += Line("1", "1\r");
  EXPECT_TRUE(Read(text).ok());
}

TEST(DatasetTest, NamesTheLineThatIsWrong) {
  const std::string good = Line("16", "9");
  for (const std::string& bad :
       {Line("17", "1"), Line("1", "10"), Line("-1", "1"), Line("1", "x"), Line("1.5", "1"),
        Line("1", "1,"), Line("1", ""), Line("", "1"), std::string("\n"), std::string("1,2\n"),
        Line("99999999999", "1")}) {
    const auto dataset = Read(good + bad + good);
    ASSERT_FALSE(dataset.ok()) << bad;
    EXPECT_THAT(dataset.status().ToString(), HasSubstr("line 2"));
  }
}

TEST(DatasetTest, TooFewRowsAreAnError) {
  EXPECT_FALSE(Read("").ok());
  EXPECT_FALSE(Read(Line("1", "1")).ok());
}

TEST(DatasetTest, TheDigitsAreComplete) {
  std::ifstream file(FindData());
  ASSERT_TRUE(file) << FindData();
  const auto dataset = ReadDataset(file);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->train.size(), 1438);
  EXPECT_EQ(dataset->test.size(), 359);
}

}  // namespace
}  // namespace digits
