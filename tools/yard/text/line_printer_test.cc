#include "tools/yard/text/line_printer.h"

#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace yard {
namespace {

std::string Printed(bool prefix, bool printable, const std::string& who, const std::string& line) {
  std::ostringstream out;
  LinePrinter({.out = &out, .prefix = prefix, .printable = printable}).Print(who, line);
  return out.str();
}

TEST(LinePrinterTest, ThePrefixIsFourteenWideAndASpace) {
  EXPECT_EQ(Printed(true, false, "worker-0", "hello"), "[worker-0]:    hello\n");
  EXPECT_EQ(Printed(true, false, "w", ""), "[w]:           \n");
}

TEST(LinePrinterTest, ALongTaskPushesTheColumn) {
  EXPECT_EQ(Printed(true, false, "evaluator-12", "x"), "[evaluator-12]: x\n");
}

TEST(LinePrinterTest, WithoutPrefixLinesAreAsTheyAre) {
  EXPECT_EQ(Printed(false, false, "w", "a\x1b[31m"), "a\x1b[31m\n");
}

TEST(LinePrinterTest, OnATerminalControlCharactersAreVisible) {
  EXPECT_EQ(Printed(false, true, "w", "a\x1b[2J\tb"), "a\\x1B[2J\tb\n");
}

}  // namespace
}  // namespace yard
