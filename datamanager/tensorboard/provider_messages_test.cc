#include "datamanager/tensorboard/provider_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "datamanager/query/run_facts.h"
#include "datamanager/series/columns.h"
#include "eventlog/event.h"
#include "eventlog/hparams_content.h"

// The expected bytes were written by TensorBoard's own classes (protobuf 6, Python).

namespace datamanager::tensorboard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Bytes(std::string_view text) { return std::string(text); }
template <std::size_t N>
std::string Raw(const char (&text)[N]) {
  return std::string(text, N - 1);
}

TEST(SeriesRequestTest, ReadsEveryField) {
  // experiment_id "e", plugin "scalars", runs ["a", "b"], tags [], num_points 1000.
  const auto request =
      ParseSeriesRequest(Raw("\x0a\x01"
                             "e\x12\x09\x0a\x07scalars\x1a\x0a\x0a\x06\x0a\x01"
                             "a\x0a\x01"
                             "b\x12\x00\x22\x03\x08\xe8\x07"));
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->plugin, "scalars");
  EXPECT_FALSE(request->runs.all);
  EXPECT_THAT(request->runs.names, ElementsAre("a", "b"));
  EXPECT_TRUE(request->runs.Includes("a"));
  EXPECT_FALSE(request->runs.Includes("c"));
  EXPECT_FALSE(request->tags.all);
  EXPECT_FALSE(request->tags.Includes(""));
  EXPECT_EQ(request->num_points, 1000);
}

TEST(SeriesRequestTest, WhatIsNotThereFiltersNothing) {
  const auto request = ParseSeriesRequest("");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->plugin, "");
  EXPECT_TRUE(request->runs.Includes("a"));
  EXPECT_TRUE(request->tags.Includes("a"));
  EXPECT_EQ(request->num_points, std::nullopt);
  // An empty downsample requests no points, unlike a missing one.
  EXPECT_EQ(ParseSeriesRequest(Raw("\x22\x00"))->num_points, 0);
  EXPECT_EQ(
      ParseSeriesRequest(Raw("\x22\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))->num_points,
      -1);
}

TEST(SeriesRequestTest, SkipsWhatItDoesNotKnow) {
  // Field 9, and field 2 as a number.
  const auto request = ParseSeriesRequest(Raw("\x48\x05\x10\x05\x12\x03\x0a\x01x"));
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->plugin, "x");
}

TEST(SeriesRequestTest, RefusesWhatIsNoMessage) {
  EXPECT_EQ(ParseSeriesRequest("\xff\xff\xff").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseSeriesRequest(Raw("\x12\x09\x0a")).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(SeriesRequestTest, SaysWhatIsMissing) {
  SeriesRequest request;
  EXPECT_THAT(std::string(CheckSeriesRequest(request, false).message()), HasSubstr("plugin"));
  request.plugin = "scalars";
  EXPECT_TRUE(CheckSeriesRequest(request, false).ok());
  EXPECT_THAT(std::string(CheckSeriesRequest(request, true).message()), HasSubstr("downsample"));
  request.num_points = -1;
  EXPECT_FALSE(CheckSeriesRequest(request, true).ok());
  request.num_points = 0;
  EXPECT_TRUE(CheckSeriesRequest(request, true).ok());
}

TEST(BlobKeyTest, IsReadBackAndNeedsNoEscape) {
  const BlobKey key = {.run = "a/b \xc3\xa4",
                       .tag = "t\xff",
                       .file = "events.out.tfevents.1.x",
                       .offset = 1ull << 40,
                       .length = 12,
                       .crc = 0xfedcba98,
                       .index = 3};
  const std::string text = EncodeBlobKey(key);
  EXPECT_EQ(
      text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
      std::string::npos);
  const auto read = DecodeBlobKey(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, key);
}

TEST(BlobKeyTest, RefusesWhatIsNone) {
  for (const std::string_view text : {"", "???", "AAAAAA", "not a key", "CgFh"}) {
    EXPECT_EQ(DecodeBlobKey(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(AnswersTest, RunsHaveTheirNumbers) {
  // Run.name is field 2; field 1 had another meaning in the past.
  const std::vector<RunEntry> runs = {{"a", 1.5}};
  EXPECT_EQ(RunsMessage(runs), Raw("\x0a\x0c\x12\x01"
                                   "a\x19\x00\x00\x00\x00\x00\x00\xf8\x3f"));
  EXPECT_EQ(PluginsMessage({"a", "b"}), Bytes("\x0a\x03\x0a\x01"
                                              "a\x0a\x03\x0a\x01"
                                              "b"));
  EXPECT_EQ(ExperimentMessage("x"), Bytes("\x0a\x01x"));
}

TEST(AnswersTest, MetadataOfBlobsStandsElsewhere) {
  SeriesInfo info;
  info.max_step = 7;
  info.max_wall_time = 2;
  info.plugin = "p";
  info.data_class = eventlog::DataClass::kScalar;
  SeriesMessage scalars;
  scalars.BeginRun("r");
  scalars.AddInfo("t", info);
  EXPECT_EQ(std::move(scalars).Take(), Raw("\x0a\x1e\x0a\x01r\x12\x19\x0a\x01t\x12\x14\x08\x07\x11"
                                           "\0\0\0\0\0\0\0\x40\x1a\x07\x0a\x03\x0a\x01p\x20\x01"));
  info.max_length = 5;
  info.data_class = eventlog::DataClass::kBlobSequence;
  SeriesMessage blobs;
  blobs.BeginRun("r");
  blobs.AddInfo("t", info);
  EXPECT_EQ(std::move(blobs).Take(),
            Raw("\x0a\x20\x0a\x01r\x12\x1b\x0a\x01t\x12\x16\x08\x07\x11"
                "\0\0\0\0\0\0\0\x40\x18\x05\x22\x07\x0a\x03\x0a\x01p\x20\x03"));
}

TEST(AnswersTest, PointsArePacked) {
  SeriesMessage message;
  message.BeginRun("r");
  const std::vector<Point> points = {{1, 2, 0.5}, {300, 4, 1}};
  message.AddPoints("t", PointsMessage(points));
  EXPECT_EQ(std::move(message).Take(), Raw("\x0a\x2b\x0a\x01r\x12\x26\x0a\x01t\x12\x21"
                                           "\x0a\x03\x01\xac\x02"
                                           "\x12\x10\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\x10\x40"
                                           "\x1a\x08\0\0\0\x3f\0\0\x80\x3f"));
}

TEST(AnswersTest, ARunWithoutTagsIsLeftOut) {
  SeriesMessage message;
  message.BeginRun("empty");
  message.BeginRun("r");
  message.AddValues("t", {{1}, {0}, {BlobSequence(std::vector<std::string>{"k"})}});
  message.BeginRun("empty too");
  const std::string bytes = std::move(message).Take();
  EXPECT_THAT(bytes, HasSubstr("k"));
  EXPECT_THAT(bytes, ::testing::Not(HasSubstr("empty")));
}

TEST(AnswersTest, AnEmptyTensorIsOfFloats) {
  EXPECT_EQ(EmptyTensor(), Raw("\x08\x01\x12\x04\x12\x02\x08\x00"));
}

TEST(HParamsTest, ValuesHaveTheirTypes) {
  const std::vector<ConfigFacts> config = {
      {.name = "drop", .text = "true", .number = std::nullopt},
      {.name = "lr", .text = "0.5", .number = 0.5},
      {.name = "opt", .text = "adam", .number = std::nullopt, .is_text = true}};
  EXPECT_EQ(SessionStartContent(config, "", 2),
            Raw("\x1a\x35"
                "\x0a\x0a\x0a\x04"
                "drop\x12\x02\x20\x01"
                "\x0a\x0f\x0a\x02lr\x12\x09\x11\0\0\0\0\0\0\xe0\x3f"
                "\x0a\x0d\x0a\x03opt\x12\x06\x1a\x04"
                "adam"
                "\x29\0\0\0\0\0\0\0\x40"));
}

TEST(HParamsTest, AnEndIsReadAsItWasWritten) {
  for (const auto status :
       {eventlog::HParamsContent::Status::kUnknown, eventlog::HParamsContent::Status::kFailure}) {
    const auto read = eventlog::ReadHParamsContent(SessionEndContent(status, 1.5));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->kind, eventlog::HParamsContent::Kind::kSessionEnd);
    EXPECT_EQ(read->status, status);
    EXPECT_EQ(read->end_time, 1.5);
  }
}

}  // namespace
}  // namespace datamanager::tensorboard
