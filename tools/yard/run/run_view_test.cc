#include "tools/yard/run/run_view.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kSomeTime = 1'700'000'000'000'000;

std::unique_ptr<msg::RunT> MakeRun(const std::string& name) {
  auto run = std::make_unique<msg::RunT>();
  run->name = name;
  run->update_us = kSomeTime;
  run->bytes = 2000;
  run->counted = true;
  run->tags = 2;
  run->points = 30;
  run->last_step = 14;
  return run;
}

std::unique_ptr<msg::TagT> MakeTag(const std::string& name, const std::string& plugin) {
  auto tag = std::make_unique<msg::TagT>();
  tag->name = name;
  tag->plugin = plugin;
  tag->data_class = plugin == "scalars" ? msg::DataClass::Scalar : msg::DataClass::BlobSequence;
  tag->points = 3;
  tag->last_step = 2;
  tag->min = tag->max = tag->last = 0.5;
  return tag;
}

std::unique_ptr<msg::FaultT> MakeFault(msg::FaultKind kind, std::uint64_t first, std::uint64_t last,
                                       const std::string& text) {
  auto fault = std::make_unique<msg::FaultT>();
  fault->kind = kind;
  fault->count = 2;
  fault->bytes = last > 0 ? 24 : 0;
  fault->first_offset = first;
  fault->last_offset = last;
  fault->text = text;
  return fault;
}

absl::Time Later() { return absl::FromUnixMicros(kSomeTime) + absl::Minutes(3); }

TEST(RunViewTest, ATableHasOnlyTheColumnsThatSayAnything) {
  std::vector<std::unique_ptr<msg::RunT>> runs;
  runs.push_back(MakeRun("first"));
  EXPECT_EQ(RunTable(runs, Later()),
            "RUN    UPDATED  TAGS  POINTS  LAST STEP    SIZE\n"
            "first    3 min     2      30         14  2.0 kB\n");
  runs.push_back(MakeRun("bad\x1b[2J"));
  runs.back()->labels = {"base", "lr=0.1"};
  runs.back()->bad_records = 4;
  const std::string table = RunTable(runs, Later());
  EXPECT_THAT(table, HasSubstr("BAD RECORDS  LABELS\n"));
  EXPECT_THAT(table, HasSubstr("bad\\x1B[2J"));
  EXPECT_THAT(table, HasSubstr("4  base lr=0.1\n"));
}

TEST(RunViewTest, WhatIsNotKnownYetIsNoNumber) {
  std::vector<std::unique_ptr<msg::RunT>> runs;
  runs.push_back(MakeRun("first"));
  runs[0]->counted = false;
  runs[0]->tags = 0;
  runs[0]->points = 0;
  EXPECT_THAT(RunTable(runs, Later()), HasSubstr("first    3 min     -       -          -  2.0"));
  EXPECT_EQ(RunToJson(*runs[0])["points"], nullptr);
  runs[0]->counted = true;
  EXPECT_THAT(RunTable(runs, Later()), HasSubstr("first    3 min     0       0          -  2.0"));
  EXPECT_EQ(RunToJson(*runs[0])["points"], 0);
  EXPECT_EQ(RunToJson(*runs[0])["last_step"], nullptr) << "there is no step";
}

TEST(RunViewTest, ARunSaysWhatIsSpecialOfIt) {
  auto run = MakeRun("first");
  EXPECT_EQ(RunText(*run),
            "run        first\n"
            "updated    2023-11-14T22:13:20.000000Z\n"
            "files      0, 2.0 kB\n");
  run->labels = {"a", "b\n"};
  run->trial = "t-abcde";
  run->read_bytes = 1999;
  run->bad_records = 1;
  run->cache = msg::CacheState::Failed;
  run->why_failed = "no memory";
  const std::string text = RunText(*run);
  for (const char* line :
       {"trial      t-abcde\n", "label      a\n", "label      b\\x0A\n", "2.0 kB, 99 % read\n",
        "damage     1 bad record (--files says where)\n", "failed     no memory\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(RunViewTest, WhatPeopleSayIsShownAndDrivesNoTerminal) {
  std::vector<std::unique_ptr<msg::RunT>> runs;
  runs.push_back(MakeRun("first"));
  runs[0]->display_name = "The best";
  runs[0]->note = "lr\x1b[2J too high\nsecond line";
  const std::string table = RunTable(runs, Later());
  EXPECT_THAT(table, HasSubstr("NAME      NOTE\n"));
  EXPECT_THAT(table, HasSubstr("The best  lr\\x1B[2J too high ...\n"));
  const std::string text = RunText(*runs[0]);
  EXPECT_THAT(text, HasSubstr("called     The best\n"));
  EXPECT_THAT(text, HasSubstr("note       lr\\x1B[2J too high\nnote       second line\n"));
  const nlohmann::json json = RunToJson(*runs[0]);
  EXPECT_EQ(json["display_name"], "The best");
  EXPECT_EQ(json["note"], runs[0]->note);
  EXPECT_EQ(RunToJson(*MakeRun("second"))["note"], nullptr);
}

TEST(RunViewTest, OnlyScalarsHaveNumbers) {
  std::vector<std::unique_ptr<msg::TagT>> tags;
  tags.push_back(MakeTag("loss", "scalars"));
  EXPECT_EQ(TagTable(tags),
            "TAG   POINTS  FIRST STEP  LAST STEP  MIN  MAX  LAST\n"
            "loss       3           0          2  0.5  0.5   0.5\n");
  tags.push_back(MakeTag("pictures", "images"));
  const std::string table = TagTable(tags);
  EXPECT_THAT(table, HasSubstr("TAG       PLUGIN   POINTS"));
  EXPECT_THAT(
      table,
      Not(HasSubstr("0.5  0.5   0.5\npictures  images         3           0          2  0")));
  EXPECT_EQ(TagToJson("first", *tags[1]).count("last"), 0U);
  EXPECT_EQ(TagToJson("first", *tags[0])["last"], 0.5);
  EXPECT_EQ(TagToJson("first", *tags[1])["plugin"], "images");
}

TEST(RunViewTest, EachFaultOfAFileIsALine) {
  msg::FilesReplyT files;
  auto file = std::make_unique<msg::RunFileT>();
  file->name = "events";
  file->bytes = 2000;
  file->read_bytes = 500;
  file->records = 7;
  file->points = 6;
  file->tail_bytes = 1;
  file->faults.push_back(MakeFault(msg::FaultKind::BadPayload, 100, 200, "bad payload"));
  file->faults.push_back(MakeFault(msg::FaultKind::UnfinishedTail, 300, 300, "unfinished"));
  file->faults.push_back(MakeFault(msg::FaultKind::Unreadable, 0, 0, "no\x1b way"));
  files.files.push_back(std::move(file));
  files.faults.push_back(MakeFault(msg::FaultKind::NoDescriptor, 5, 5, ""));
  EXPECT_EQ(FilesText(files),
            "FILE    FORMAT         SIZE  READ  RECORDS  POINTS\n"
            "events  tensorboard  2.0 kB  25 %        7       6\n"
            "fault      events: 2 bad payload, 24 bytes skipped, at byte 100 to 200\n"
            "fault      events: 2 unreadable: no\\x1B way\n"
            "tail       events: 1 byte of a record that is not complete\n"
            "fault      2 no descriptor, 24 bytes skipped, at byte 5\n");
  const auto json = FileToJson("first", *files.files[0]);
  EXPECT_EQ(json["format"], "tensorboard");
  EXPECT_EQ(json["faults"][0]["kind"], "bad_payload");
  EXPECT_EQ(json["faults"][2]["text"], "no\x1b way");
}

TEST(RunViewTest, AKindOfANewerDataManagerIsUnknown) {
  EXPECT_EQ(WordsOf(msg::EnumNameFaultKind(static_cast<msg::FaultKind>(200))), "unknown");
}

}  // namespace
}  // namespace yard
