#include "tools/yard/event/event_maker.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string TextOf(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

class EventMakerTest : public ::testing::Test {
 protected:
  EventMakerTest() {
    auto messages = MessageJson::Load();
    EXPECT_EQ(messages.status(), absl::OkStatus());
    messages_ = *std::move(messages);
  }
  EventMaker Of(const std::string& type) const {
    return EventMaker({.topic = "e/x/", .type = type, .messages = messages_.get()});
  }
  static std::string WhyNot(const EventMaker& maker, const std::string& text) {
    const auto event = maker.Make(text);
    EXPECT_FALSE(event.ok());
    return std::string(event.status().message());
  }
  std::unique_ptr<MessageJson> messages_;
};

TEST_F(EventMakerTest, JsonGoesAsItIs) {
  const auto event = EventMaker({.topic = "e/x/"}).Make(" {\"a\": 1} ");
  ASSERT_EQ(event.status(), absl::OkStatus());
  EXPECT_EQ((*event)->topic, "e/x/");
  EXPECT_EQ(TextOf((*event)->payload), " {\"a\": 1} ");
  EXPECT_EQ((*event)->payload_type, "application/json");
  EXPECT_THAT((*event)->envelope, IsEmpty());
  EXPECT_THAT(WhyNot(EventMaker({.topic = "e/x/"}), "{\"a\": }"), HasSubstr("line 1, column 7"));
}

TEST_F(EventMakerTest, RawTextIsNotLookedAt) {
  const auto event = EventMaker({.topic = "e/x/", .raw = true, .type = "Nothing"}).Make("{oops");
  ASSERT_EQ(event.status(), absl::OkStatus());
  EXPECT_EQ(TextOf((*event)->payload), "{oops");
  EXPECT_EQ((*event)->payload_type, "text/plain");
}

TEST_F(EventMakerTest, ATypedEventIsAMessage) {
  const auto event = Of("Points").Make("{run: \"a\", values: [1, 2.5]}");
  ASSERT_EQ(event.status(), absl::OkStatus());
  EXPECT_THAT((*event)->payload, IsEmpty());
  EXPECT_THAT((*event)->payload_type, IsEmpty());
  const auto* envelope = msg::GetEnvelope((*event)->envelope.data());
  ASSERT_EQ(envelope->body_type(), msg::Body::Points);
  EXPECT_EQ(envelope->body_as_Points()->run()->str(), "a");
  EXPECT_EQ(envelope->body_as_Points()->values()->Get(1), 2.5);
}

TEST_F(EventMakerTest, WhatDoesNotFitTheTypeIsNamedWithItsPlace) {
  const std::string why = WhyNot(Of("Points"), "{rum: \"a\"}");
  EXPECT_THAT(why, HasSubstr("Points: line 1, column 2: unknown field \"rum\""));
  EXPECT_THAT(why, HasSubstr("run: string"));
}

TEST_F(EventMakerTest, ATypeThatDoesNotExistIsToldWithTheOneThatMayBeMeant) {
  EXPECT_THAT(WhyNot(Of("TrailEvent"), "{}"), HasSubstr("did you mean TrialEvent?"));
  EXPECT_THAT(WhyNot(Of("Xyzzyx"), "{}"), HasSubstr("no message type Xyzzyx; yard call --list"));
  EXPECT_EQ(Of("Envelope").Make("{}").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace yard
