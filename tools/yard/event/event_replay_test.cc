#include "tools/yard/event/event_replay.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/envelope_generated.h"
#include "flatbuffers/flatbuffers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EventReplayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove(path_);
    auto writer = EventDumpWriter::Create(path_, 1 << 20);
    ASSERT_EQ(writer.status(), absl::OkStatus());
    writer_ = *std::move(writer);
  }
  // Adds an event with a payload; without a head if `sent_us` is 0.
  void Add(const std::string& topic, std::int64_t sent_us, std::int64_t heard_us = 0) {
    msg::EnvelopeT event;
    if (sent_us != 0) event.head = std::make_unique<msg::Head>(1, 1, 1, sent_us);
    event.payload = {'1'};
    event.payload_type = "application/json";
    flatbuffers::FlatBufferBuilder builder;
    msg::FinishEnvelopeBuffer(builder, msg::Envelope::Pack(builder, &event));
    const std::string message(builder.GetBufferPointer(),
                              builder.GetBufferPointer() + builder.GetSize());
    ASSERT_EQ(writer_->Add(heard_us, topic, message), absl::OkStatus());
  }
  // Returns "TOPIC DUE" for each event, then the error.
  std::vector<std::string> Replay(EventReplay::Options options) const {
    options.path = path_;
    auto replay = EventReplay::Open(options);
    if (!replay.ok()) return {replay.status().ToString()};
    std::vector<std::string> all;
    for (;;) {
      const auto event = replay->Next();
      if (!event.ok()) {
        all.push_back(event.status().ToString());
        return all;
      }
      if (!event->has_value()) return all;
      EXPECT_EQ((*event)->event->payload, std::vector<std::uint8_t>{'1'});
      EXPECT_EQ((*event)->event->payload_type, "application/json");
      all.push_back(absl::StrCat((*event)->event->topic, " ", absl::FormatDuration((*event)->due)));
    }
  }

  const std::string path_ = ::testing::TempDir() + "/events";
  std::unique_ptr<EventDumpWriter> writer_;
};

TEST_F(EventReplayTest, KeepsTheTimesBetweenThem) {
  Add("e/a/", 5'000'000);
  Add("e/b/", 7'000'000);
  Add("e/c/", 6'000'000);
  Add("e/d/", 0, 9'000'000);
  EXPECT_THAT(Replay({}), ElementsAre("e/a/ 0", "e/b/ 2s", "e/c/ 2s", "e/d/ 4s"));
  EXPECT_THAT(Replay({.speed = 4}), ElementsAre("e/a/ 0", "e/b/ 500ms", "e/c/ 500ms", "e/d/ 1s"));
  EXPECT_THAT(Replay({.speed = 0}), ElementsAre("e/a/ 0", "e/b/ 0", "e/c/ 0", "e/d/ 0"));
  EXPECT_THAT(Replay({.rate = 2}), ElementsAre("e/a/ 0", "e/b/ 500ms", "e/c/ 1s", "e/d/ 1.5s"));
}

TEST_F(EventReplayTest, TopicsOfOwnersNeedARoot) {
  Add("e/a/", 1);
  Add("t/t-abcde/", 1);
  EXPECT_THAT(Replay({.root = "e/again/"}), ElementsAre("e/again/e/a/ 0", "e/again/t/t-abcde/ 0"));
  EXPECT_THAT(Replay({}), ElementsAre("e/a/ 0", HasSubstr("event 2: only its owner publishes on")));
}

TEST_F(EventReplayTest, WhatIsNoMessageIsNamed) {
  Add("e/a/", 1);
  ASSERT_EQ(writer_->Add(1, "e/a/", "no flatbuffer, but long enough to be one"), absl::OkStatus());
  EXPECT_THAT(Replay({}), ElementsAre("e/a/ 0", HasSubstr("INVALID_ARGUMENT")));
}

}  // namespace
}  // namespace yard
