#include "launcher/wire/log_times.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace launcher {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kBegin = 1'700'000'000 * kSecond;
constexpr std::size_t kRecordBytes = 16;

class LogTimesTest : public ::testing::Test {
 protected:
  LogTimesTest() {
    char name[] = "/tmp/ylmXXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/times";
  }
  ~LogTimesTest() override { std::filesystem::remove_all(folder_); }

  // Returns the offset for a time in seconds after the beginning.
  std::optional<std::uint64_t> At(double seconds) const {
    return LogTimes::OffsetAt(path_, kBegin + static_cast<std::int64_t>(seconds * kSecond));
  }
  // Adds a record with a new writer, as after a restart.
  void Note(double seconds, std::uint64_t offset) const {
    LogTimes(path_).Note(kBegin + static_cast<std::int64_t>(seconds * kSecond), offset);
  }
  std::uintmax_t Size() const { return std::filesystem::file_size(path_); }
  void Append(const std::string& bytes) const {
    std::ofstream(path_, std::ios::app | std::ios::binary) << bytes;
  }

  std::string folder_, path_;
};

TEST_F(LogTimesTest, FindsWhereTheStreamWasAtATime) {
  LogTimes times(path_);
  times.Note(kBegin, 0);
  times.Note(kBegin + 10 * kSecond, 100);
  times.Note(kBegin + 20 * kSecond, 200);
  EXPECT_EQ(At(-1), 0u);
  EXPECT_EQ(At(0), 0u);
  EXPECT_EQ(At(9.9), 0u);
  EXPECT_EQ(At(10), 100u);
  EXPECT_EQ(At(19.9), 100u);
  EXPECT_EQ(At(1000), 200u);
}

TEST_F(LogTimesTest, NotesOneGrowthASecond) {
  LogTimes times(path_);
  for (int i = 0; i < 1000; ++i) {
    times.Note(kBegin + i * kSecond / 100, static_cast<std::uint64_t>(i));
  }
  EXPECT_EQ(Size(), 10 * kRecordBytes);
  EXPECT_EQ(At(5.5), 500u);
}

TEST_F(LogTimesTest, TheEndIsNotedWhateverTheInterval) {
  LogTimes times(path_);
  times.Note(kBegin, 0);
  times.NoteEnd(kBegin + 10, 50);
  EXPECT_EQ(At(0), 0u);
  EXPECT_EQ(At(1), 50u);
}

TEST_F(LogTimesTest, AStreamThatNeverGrewHasNoIndex) {
  LogTimes(path_).NoteEnd(kBegin, 0);
  EXPECT_EQ(At(0), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(LogTimesTest, StaysSmallAndGrowsCoarserInstead) {
  LogTimes times(path_);
  constexpr int kSeconds = 40'000;
  for (int i = 0; i < kSeconds; ++i) {
    times.Note(kBegin + i * kSecond, static_cast<std::uint64_t>(i));
    ASSERT_LE(Size(), 64u * 1024);
  }
  EXPECT_GT(Size(), 16u * 1024);
  for (int second : {0, 1, 17, 4095, 4096, 20'000, 39'000, kSeconds - 1}) {
    const auto offset = At(second);
    ASSERT_TRUE(offset.has_value());
    EXPECT_LE(*offset, static_cast<std::uint64_t>(second));
    EXPECT_LE(static_cast<std::uint64_t>(second) - *offset, 16u) << second;
  }
}

TEST_F(LogTimesTest, AnotherWriterGoesOn) {
  Note(0, 0);
  Note(5, 50);
  Note(10, 100);
  EXPECT_EQ(At(7), 50u);
  EXPECT_EQ(At(12), 100u);
}

TEST_F(LogTimesTest, AnotherWriterOfAFullIndexThinsIt) {
  {
    LogTimes times(path_);
    for (std::size_t i = 0; i < LogTimes::kMaxRecords; ++i) {
      times.Note(kBegin + static_cast<std::int64_t>(i) * kSecond, i);
    }
    ASSERT_EQ(Size(), LogTimes::kMaxRecords * kRecordBytes);
  }
  Note(5000, 5000);
  EXPECT_EQ(Size(), (LogTimes::kMaxRecords / 2 + 1) * kRecordBytes);
  EXPECT_EQ(At(101), 100u);
  EXPECT_EQ(At(4999), 4094u);
  EXPECT_EQ(At(5000), 5000u);
}

TEST_F(LogTimesTest, WhatIsTornOrNoRecordIsIgnored) {
  Note(0, 0);
  Note(10, 100);
  Append(std::string(kRecordBytes, '\0'));
  Append(std::string(kRecordBytes, '\xff'));
  Append("0123456789abcdef");
  Note(20, 200);
  Append("half");
  EXPECT_EQ(At(15), 100u);
  EXPECT_EQ(At(25), 200u);
  Note(30, 300);  // Overwrites the partial record.
  EXPECT_EQ(At(25), 200u);
  EXPECT_EQ(At(35), 300u);
}

TEST_F(LogTimesTest, RecordsThatAreThereTwiceDoNoHarm) {
  // As after a kill while Thin() was dropping every second record.
  for (int second : {0, 2, 4, 6, 2, 3, 4, 5, 6, 7, 8}) {
    Note(second, static_cast<std::uint64_t>(second) * 10);
  }
  EXPECT_EQ(At(3.5), 20u);
  EXPECT_EQ(At(7.5), 70u);
  EXPECT_EQ(At(9), 80u);
}

TEST_F(LogTimesTest, AClockThatWasSetBackLeavesNothingOut) {
  LogTimes times(path_);
  times.Note(kBegin + 100 * kSecond, 0);
  times.Note(kBegin + 200 * kSecond, 50);
  times.Note(kBegin + 150 * kSecond, 80);
  // By the clock at that time, the bytes from 50 on were written at 200.
  EXPECT_EQ(At(160), 0u);
  EXPECT_EQ(At(200), 80u);
}

TEST_F(LogTimesTest, WhereNothingCanBeWrittenThereIsNoIndex) {
  LogTimes times(folder_ + "/missing/times");
  times.Note(kBegin, 0);
  times.NoteEnd(kBegin, 10);
  EXPECT_EQ(LogTimes::OffsetAt(folder_ + "/missing/times", kBegin), std::nullopt);
  LogTimes folder(folder_);
  folder.Note(kBegin, 0);
  EXPECT_EQ(LogTimes::OffsetAt(folder_, kBegin), std::nullopt);
}

}  // namespace
}  // namespace launcher
