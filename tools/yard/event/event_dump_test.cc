#include "tools/yard/event/event_dump.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"

namespace yard {
namespace {

using ::testing::HasSubstr;

class EventDumpTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove(path_); }

  std::uint64_t Write(const std::vector<DumpedEvent>& events) {
    const auto writer = EventDumpWriter::Create(path_, 1 << 20);
    EXPECT_EQ(writer.status(), absl::OkStatus());
    for (const DumpedEvent& event : events) {
      EXPECT_EQ((*writer)->Add(event.heard_us, event.topic, event.message), absl::OkStatus());
    }
    EXPECT_EQ((*writer)->events(), events.size());
    EXPECT_EQ((*writer)->bytes(), std::filesystem::file_size(path_));
    return (*writer)->bytes();
  }
  // Returns "TIME TOPIC MESSAGE" for each event, then "torn" or the error.
  std::vector<std::string> Read() const {
    const auto reader = EventDumpReader::Open(path_);
    if (!reader.ok()) return {std::string(reader.status().message())};
    std::vector<std::string> all;
    for (;;) {
      const auto event = (*reader)->Next();
      if (!event.ok()) {
        all.emplace_back(event.status().message());
        return all;
      }
      if (!event->has_value()) break;
      all.push_back(std::to_string((*event)->heard_us) + " " + (*event)->topic + " " +
                    (*event)->message);
    }
    if ((*reader)->torn()) all.emplace_back("torn");
    return all;
  }

  const std::string path_ = ::testing::TempDir() + "/events";
};

TEST_F(EventDumpTest, WhatIsWrittenIsRead) {
  Write({{1, "e/a/", "x"}, {-5, "e/b/", std::string("\n\0\n", 3)}, {1LL << 60, "e/a/", ""}});
  EXPECT_EQ(Read(), (std::vector<std::string>{"1 e/a/ x", std::string("-5 e/b/ \n\0\n", 11),
                                              "1152921504606846976 e/a/ "}));
  struct stat about = {};
  ASSERT_EQ(stat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u) << "events may hold what is nobody else's business";
}

TEST_F(EventDumpTest, ManyEventsAreReadPieceByPiece) {
  std::vector<DumpedEvent> events;
  for (int i = 0; i < 3000; ++i) events.push_back({i, "e/a/", std::string(300, 'x')});
  Write(events);
  EXPECT_EQ(Read().size(), 3000u);
}

// Truncates the file at every byte at which a writer may have been killed.
TEST_F(EventDumpTest, AFileThatEndsInARecordIsWholeUpToIt) {
  Write({{1, "e/a/", "first"}});
  const auto one = std::filesystem::file_size(path_);
  std::filesystem::remove(path_);
  const auto both = Write({{1, "e/a/", "first"}, {2, "e/a/", "second"}});
  for (auto size = both - 1; size > one; --size) {
    std::filesystem::resize_file(path_, size);
    EXPECT_EQ(Read(), (std::vector<std::string>{"1 e/a/ first", "torn"})) << size;
  }
  std::filesystem::resize_file(path_, one);
  EXPECT_EQ(Read(), (std::vector<std::string>{"1 e/a/ first"}));
}

TEST_F(EventDumpTest, DamageIsToldWithItsPlace) {
  const auto size = Write({{1, "e/a/", "first"}});
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size) - 6);
  file.put('!');
  file.close();
  EXPECT_THAT(Read(), ::testing::ElementsAre(HasSubstr("byte 35: a checksum is wrong")));
}

TEST_F(EventDumpTest, OtherFilesAreNone) {
  for (const std::string text : {"", "{}", "a file of many more bytes than a header has"}) {
    ASSERT_TRUE(runtime::WriteFileAtomically(path_, text, 0600).ok());
    EXPECT_THAT(Read(), ::testing::ElementsAre(HasSubstr("has no events")));
  }
  std::filesystem::remove(path_);
  EXPECT_TRUE(absl::IsNotFound(EventDumpReader::Open(path_).status()));
}

TEST_F(EventDumpTest, NothingIsOverwrittenAndNothingGrowsOverItsBound) {
  const auto writer = EventDumpWriter::Create(path_, 100);
  ASSERT_EQ(writer.status(), absl::OkStatus());
  EXPECT_EQ((*writer)->Add(1, "e/a/", "x"), absl::OkStatus());
  const absl::Status full = (*writer)->Add(2, "e/a/", std::string(100, 'x'));
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_EQ(Read(), (std::vector<std::string>{"1 e/a/ x"}));
  EXPECT_TRUE(absl::IsAlreadyExists(EventDumpWriter::Create(path_, 100).status()));
}

}  // namespace
}  // namespace yard
