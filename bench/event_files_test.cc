#include "bench/event_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "bench/limit_reader.h"
#include "eventlog/event.h"
#include "eventlog/record.h"

namespace bench {
namespace {

using Style = EventFilesOptions::Style;

class EventFilesTest : public testing::Test {
 protected:
  EventFilesTest() {
    char name[] = "/tmp/evgen-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~EventFilesTest() override { std::filesystem::remove_all(directory_); }

  EventFilesWritten Write(const EventFilesOptions& options) {
    const auto written = WriteEventFiles(directory_, options);
    EXPECT_TRUE(written.ok()) << written.status();
    return written.value_or(EventFilesWritten());
  }
  std::string Path(int run = 0) const {
    const std::string number = std::to_string(run);
    return directory_ + "/run_00" + number + "/events.out.tfevents." +
           std::to_string(1700000000 + run) + ".host" + number + "." + std::to_string(1000 + run) +
           ".0";
  }
  std::string Content(int run = 0) const {
    std::ifstream file(Path(run), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string directory_;
};

TEST_F(EventFilesTest, IsTheDataThatFiguresAreOf) {
  for (const auto& [style, bytes] :
       {std::pair(Style::kOld, 242'349'400u / 20), std::pair(Style::kNew, 352'349'400u / 20)}) {
    const EventFilesWritten written = Write({.style = style});
    EXPECT_EQ(written.records, 250'001u);
    EXPECT_EQ(written.points, 250'000u);
    EXPECT_EQ(written.bytes, bytes);
    EXPECT_EQ(std::filesystem::file_size(Path()), bytes);
    const auto read = ReadAtLimit(Path());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->records, 250'001u);
    EXPECT_EQ(read->points, 250'000u);
    EXPECT_EQ(read->tags, 5u);
    EXPECT_EQ(read->bad_records, 0u);
  }
}

TEST_F(EventFilesTest, EveryRecordIsTheEventItShouldBe) {
  for (const Style style : {Style::kOld, Style::kNew}) {
    Write({.style = style, .steps = 3, .tags = 7});
    const std::string content = Content();
    eventlog::Event event;
    int record = -1;
    for (std::string_view rest = content; !rest.empty(); ++record) {
      const eventlog::ParsedRecord parsed = eventlog::ParseRecord(rest);
      ASSERT_EQ(parsed.state, eventlog::ParsedRecord::State::kRecord);
      ASSERT_TRUE(eventlog::DecodeEvent(parsed.payload, &event).ok());
      rest.remove_prefix(parsed.size);
      if (record < 0) {
        EXPECT_EQ(event.file_version, "brain.Event:2");
        continue;
      }
      EXPECT_EQ(event.step, record / 7);
      EXPECT_DOUBLE_EQ(event.wall_time, 1.7e9 + record / 7 * 0.1 + record % 7 * 0.001);
      ASSERT_EQ(event.values.size(), 1u);
      EXPECT_EQ(event.values[0].tag, EventFileTag(record % 7));
      ASSERT_TRUE(event.values[0].scalar.has_value());
      EXPECT_LT(*event.values[0].scalar, 1);
      EXPECT_EQ(event.values[0].plugin, style == Style::kOld ? "" : "scalars");
    }
    EXPECT_EQ(record, 21);
  }
  EXPECT_EQ(EventFileTag(0), "train/loss");
  EXPECT_EQ(EventFileTag(6), "train/accuracy/1");
}

TEST_F(EventFilesTest, OptionsAndNothingElseMakeTheBytes) {
  Write({.runs = 2, .steps = 10});
  const std::string first = Content(0), second = Content(1);
  EXPECT_NE(first, second);
  Write({.runs = 2, .steps = 10});
  EXPECT_EQ(Content(0), first);
  EXPECT_EQ(Content(1), second);
  Write({.runs = 2, .steps = 10, .seed = 8});
  EXPECT_NE(Content(0), first);
}

TEST_F(EventFilesTest, SaysWhatItCannotWrite) {
  EXPECT_EQ(WriteEventFiles(directory_, {.runs = -1}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(WriteEventFiles("/proc/no/such/place", {}).ok());
}

TEST_F(EventFilesTest, TheLimitReaderSeesDamage) {
  Write({.steps = 10});
  std::string content = Content();
  content[60] = static_cast<char>(content[60] ^ 1);
  std::ofstream(Path(), std::ios::binary) << content;
  const auto read = ReadAtLimit(Path());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->records, 51u);
  EXPECT_EQ(read->bad_records, 1u);
  EXPECT_EQ(read->points, 49u);
  EXPECT_EQ(ReadAtLimit(directory_ + "/none").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace bench
