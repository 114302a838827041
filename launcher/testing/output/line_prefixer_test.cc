#include "launcher/testing/output/line_prefixer.h"

#include <gtest/gtest.h>

#include <string>

namespace launcher::testing {
namespace {

std::string Prefixed(const std::string& task, const std::string& bytes, std::size_t piece) {
  LinePrefixer prefixer(task);
  std::string lines;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    prefixer.Add(std::string_view(bytes).substr(at, piece), &lines);
    EXPECT_TRUE(lines.empty() || lines.back() == '\n') << "whole lines only";
  }
  prefixer.Finish(&lines);
  return lines;
}

TEST(LinePrefixerTest, FillsThePrefixUpTo14Columns) {
  EXPECT_EQ(Prefixed("worker-0", "text\n", 99), "[worker-0]:    text\n");
  EXPECT_EQ(Prefixed("ps-12", "text\n", 99), "[ps-12]:       text\n");
  EXPECT_EQ(Prefixed("evaluator-123", "text\n", 99), "[evaluator-123]: text\n");
}

TEST(LinePrefixerTest, GivesTheSameLinesWhateverThePieces) {
  const std::string bytes("one\n\ntwo \0 \xff\nlast", 17);
  const std::string nul(1, '\0');
  const std::string lines = "[a-0]:         one\n[a-0]:         \n[a-0]:         two " + nul +
                            " \xff\n[a-0]:         last\n";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_EQ(Prefixed("a-0", bytes, piece), lines) << piece;
  }
}

// Like Python's "universal newlines" for text files.
TEST(LinePrefixerTest, ACarriageReturnEndsALineToo) {
  const std::string bytes = "one\r\ntwo\rthree\n\r\r\nfour\r";
  std::string lines;
  for (const char* line : {"one", "two", "three", "", "", "four"}) {
    lines += "[a-0]:         " + std::string(line) + "\n";
  }
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_EQ(Prefixed("a-0", bytes, piece), lines) << piece;
  }
}

TEST(LinePrefixerTest, CutsALineThatHasNoEnd) {
  const std::string bytes(LinePrefixer::kMaxLine + 10, 'x');
  const std::string lines = Prefixed("a-0", bytes, 1 << 20);
  EXPECT_EQ(lines, "[a-0]:         " + std::string(LinePrefixer::kMaxLine, 'x') +
                       "\n[a-0]:         xxxxxxxxxx\n");
}

}  // namespace
}  // namespace launcher::testing
