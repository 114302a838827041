#include "tools/yard/follow/input_line_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/unique_fd.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

runtime::UniqueFd FileOf(const std::string& text) {
  runtime::UniqueFd file(memfd_create("text", MFD_CLOEXEC));
  EXPECT_EQ(pwrite(file.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  return file;
}

std::vector<std::string> LinesOf(const std::string& text, std::size_t max_bytes = 1 << 20) {
  const runtime::UniqueFd file = FileOf(text);
  InputLineReader reader(file.get(), max_bytes);
  std::vector<std::string> lines;
  for (;;) {
    auto line = reader.Next();
    if (!line.ok()) {
      lines.emplace_back(line.status().message());
      return lines;
    }
    if (!line->has_value()) return lines;
    lines.push_back(**std::move(line));
    EXPECT_EQ(reader.number(), lines.size());
  }
}

TEST(LineReaderTest, GivesEachLineWithoutItsEnd) {
  EXPECT_THAT(LinesOf(""), IsEmpty());
  EXPECT_THAT(LinesOf("a\nbc\n"), ElementsAre("a", "bc"));
  EXPECT_THAT(LinesOf("a\nbc"), ElementsAre("a", "bc")) << "the last one needs no end";
  EXPECT_THAT(LinesOf("\n\nx\n"), ElementsAre("", "", "x"));
  EXPECT_THAT(LinesOf(std::string("a\0b\n", 4)), ElementsAre(std::string("a\0b", 3)));
}

TEST(LineReaderTest, LongLinesAreWhole) {
  const std::string line(300'000, 'x');
  EXPECT_THAT(LinesOf(line + "\n" + line + "y\nz"), ElementsAre(line, line + "y", "z"));
}

TEST(LineReaderTest, OneThatIsTooLongIsNamed) {
  EXPECT_THAT(LinesOf("12345\n123456\n", 5), ElementsAre("12345", "line 2 has over 5 bytes"));
  EXPECT_THAT(LinesOf("1\n" + std::string(500'000, 'x'), 5),
              ElementsAre("1", "line 2 has over 5 bytes"));
}

TEST(LineReaderTest, KnowsWhetherItHasToWait) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const runtime::UniqueFd read_end(ends[0]), write_end(ends[1]);
  ASSERT_EQ(write(write_end.get(), "a\nb\nc", 5), 5);
  InputLineReader reader(read_end.get(), 100);
  EXPECT_FALSE(reader.HasLine()) << "nothing was read yet";
  EXPECT_EQ(**reader.Next(), "a");
  EXPECT_TRUE(reader.HasLine());
  EXPECT_EQ(**reader.Next(), "b");
  EXPECT_FALSE(reader.HasLine()) << "the end of c is not there";
}

TEST(LineReaderTest, RestIsAllOfIt) {
  const runtime::UniqueFd file = FileOf("{\n1}\n");
  EXPECT_EQ(InputLineReader(file.get(), 100).Rest().value_or("failed"), "{\n1}\n");
  const runtime::UniqueFd large = FileOf(std::string(101, 'x'));
  EXPECT_THAT(std::string(InputLineReader(large.get(), 100).Rest().status().message()),
              HasSubstr("over 100 bytes"));
  EXPECT_FALSE(InputLineReader(-1, 100).Next().ok());
}

}  // namespace
}  // namespace yard
