#include "trainer/run/csv_widening.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"

namespace trainer {
namespace {

runtime::UniqueFd TemporaryFile(const std::string& content) {
  char name[] = "/tmp/cw-XXXXXX";
  runtime::UniqueFd fd(mkstemp(name));
  unlink(name);
  EXPECT_TRUE(runtime::WriteAll(fd.get(), content).ok());
  return fd;
}

std::string Content(int fd) {
  std::string content(8 << 20, '\0');
  const ssize_t size = pread(fd, content.data(), content.size(), 0);
  content.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return content;
}

// Returns the table after columns c and d were added to a and b; "ERR" if it is refused.
std::string Widened(const std::string& table) {
  const runtime::UniqueFd from = TemporaryFile(table), to = TemporaryFile("");
  const absl::Status status = CopyWidened(from.get(), to.get(), "a,b\n", "a,b,c,d\n", 2);
  EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << status;
  return status.ok() ? Content(to.get()) : "ERR";
}

TEST(CsvWideningTest, EachRowGetsEmptyCells) {
  EXPECT_EQ(Widened("a,b\n1,2\n3,\n"), "a,b,c,d\n1,2,,\n3,,,\n");
  EXPECT_EQ(Widened("a,b\n"), "a,b,c,d\n");
}

TEST(CsvWideningTest, AnEndOfLineInsideQuotesIsNone) {
  EXPECT_EQ(Widened("a,b\n\"x\ny\",\"say \"\"hi\"\"\n\"\n1,2\n"),
            "a,b,c,d\n\"x\ny\",\"say \"\"hi\"\"\n\",,\n1,2,,\n");
}

TEST(CsvWideningTest, RefusesWhatIsNotThatTable) {
  EXPECT_EQ(Widened("a,x\n1,2\n"), "ERR");
  EXPECT_EQ(Widened("a,"), "ERR");
  EXPECT_EQ(Widened(""), "ERR");
  EXPECT_EQ(Widened("a,b\n1,2"), "ERR");
  EXPECT_EQ(Widened("a,b\n1,\"2\n"), "ERR") << "the quotes are never closed";
}

TEST(CsvWideningTest, AQuoteAtTheEdgeOfAReadStaysOpen) {
  std::string table = "a,b\n", expected = "a,b,c,d\n";
  for (int i = 0; i < 100'000; ++i) {
    absl::StrAppend(&table, i, ",\"x\n", i, "\"\n");
    absl::StrAppend(&expected, i, ",\"x\n", i, "\",,\n");
  }
  EXPECT_TRUE(Widened(table) == expected);
}

}  // namespace
}  // namespace trainer
