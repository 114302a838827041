#include "tools/yard/line_printer.h"

#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace yard {
namespace {

class LinePrinterTest : public ::testing::Test {
 protected:
  std::ostringstream out_;
  LinePrinter lines_{{.out = &out_}};
};

TEST_F(LinePrinterTest, ThePrefixIsFourteenWideAndASpace) {
  lines_.Print("j-abcde/worker-0", "hello\n");
  EXPECT_EQ(out_.str(), "[worker-0]:    hello\n");
}

TEST_F(LinePrinterTest, ALongTaskPushesTheColumn) {
  lines_.Print("j-abcde/evaluator-12", "x\n");
  EXPECT_EQ(out_.str(), "[evaluator-12]: x\n");
}

TEST_F(LinePrinterTest, PiecesOfALineArePutTogether) {
  lines_.Print("j/w", "one ");
  EXPECT_EQ(out_.str(), "");
  lines_.Print("j/w", "line\ntwo\nthr");
  lines_.Print("j/w", "ee\n");
  EXPECT_EQ(out_.str(), "[w]:           one line\n[w]:           two\n[w]:           three\n");
}

TEST_F(LinePrinterTest, TwoTasksNeverMixInsideALine) {
  lines_.Print("j/a", "aa");
  lines_.Print("j/b", "bb\n");
  lines_.Print("j/a", "AA\n");
  EXPECT_EQ(out_.str(), "[b]:           bb\n[a]:           aaAA\n");
}

TEST_F(LinePrinterTest, TheLastLineNeedsNoEnd) {
  lines_.Print("j/w", "no end");
  lines_.Finish();
  lines_.Finish();
  EXPECT_EQ(out_.str(), "[w]:           no end\n");
}

TEST_F(LinePrinterTest, ANewAttemptDoesNotGoOnWithTheLineOfTheLast) {
  lines_.Print("j/w", "killed in mid-");
  lines_.Print("j/v", "other");
  lines_.FinishLine("j/w");
  lines_.FinishLine("j/none");
  lines_.Print("j/w", "again\n");
  EXPECT_EQ(out_.str(), "[w]:           killed in mid-\n[w]:           again\n");
}

TEST_F(LinePrinterTest, AnEndlessLineIsPrintedInParts) {
  lines_.Print("j/w", std::string(3 << 20, 'x'));
  EXPECT_GE(out_.str().size(), std::size_t{3} << 20);
}

TEST(RawLinePrinterTest, WithoutPrefixLinesAreAsTheyAre) {
  std::ostringstream out;
  LinePrinter lines({.out = &out, .prefix = false});
  lines.Print("j/w", "a\x1b[31m\n\nb\n");
  EXPECT_EQ(out.str(), "a\x1b[31m\n\nb\n");
}

TEST(PrintableLinePrinterTest, OnATerminalControlCharactersAreVisible) {
  std::ostringstream out;
  LinePrinter lines({.out = &out, .prefix = false, .printable = true});
  lines.Print("j/w", "a\x1b[2J\tb\n");
  EXPECT_EQ(out.str(), "a\\x1B[2J\tb\n");
}

}  // namespace
}  // namespace yard
