#include "bus/event/recent_events.h"

#include <memory>
#include <string>

#include "bus/fixtures/record_conformance.h"
#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "bus/wire/receive.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bus {
namespace {

constexpr std::int64_t kFirstUs = 1'000'000;  // Event n of a lane is sent n us later.

class RecentEventsTest : public ::testing::Test {
 protected:
  void Add(RecentEvents& events, const std::string& topic, std::uint64_t source, std::uint64_t seq,
           std::size_t bytes = 100) {
    msg::EnvelopeT event;
    event.head =
        std::make_unique<msg::Head>(source, 1, seq, kFirstUs + static_cast<std::int64_t>(seq));
    event.payload.resize(bytes);
    const Frame frame = Encode(event);
    events.Add(topic, *event.head, frame);
  }
};

TEST_F(RecentEventsTest, IsARecord) {
  RecentEvents events;
  for (int i = 1; i <= 700; ++i) {
    Add(events, "e/a/", 7, i, 500);
    Add(events, "e/b/", 9, i);
    if (i % 2 == 0) Add(events, "e/a/", 8, i / 2);
  }
  ExpectConformingRecord({.ends = [&](const auto& request) { return events.Ends(request); },
                          .since = [&](const auto& request) { return events.Since(request); },
                          .root = "e/"});
}

TEST_F(RecentEventsTest, KeepsTheLastWithinItsBytes) {
  RecentEvents events(10'000);
  for (int i = 1; i <= 100; ++i) Add(events, "e/a/", 7, i, 1000);
  EXPECT_LE(events.bytes(), 10'000u);
  msg::SinceRequestT request;
  request.places.push_back(std::make_unique<msg::PlaceT>());
  request.places[0]->topic = "e/a/";
  request.places[0]->lane = 7;
  const msg::SinceReplyT reply = events.Since(request);
  ASSERT_GE(reply.events.size(), 5u);
  EXPECT_LE(reply.events.size(), 9u);
  const auto last = Receive(reply.events.back()->envelope, kMaxMessageBytes);
  ASSERT_EQ(last.status(), absl::OkStatus());
  EXPECT_EQ((*last)->head()->seq(), 100u);
}

class RecentEventsSinceTest : public RecentEventsTest {
 protected:
  // Returns, e.g., "beginning 3, 4, 5": the events of e/a/ from source 7 since that event was sent.
  static std::string Since(const RecentEvents& events, std::int64_t seq, std::uint64_t after = 0) {
    msg::SinceRequestT request;
    request.since_us = kFirstUs + seq;
    request.places.push_back(std::make_unique<msg::PlaceT>());
    request.places[0]->topic = "e/a/";
    request.places[0]->lane = 7;
    request.places[0]->position = after;
    std::string text;
    for (const auto& recorded : events.Since(request).events) {
      const auto event = Receive(recorded->envelope, kMaxMessageBytes);
      if (!event.ok()) return std::string(event.status().message());
      if (!text.empty()) text += ", ";
      const msg::Span* const span = (*event)->span();
      text += span == nullptr ? std::to_string((*event)->head()->seq())
                              : "beginning " + std::to_string(span->to());
    }
    return text;
  }
};

TEST_F(RecentEventsSinceTest, SaysWhereItBegins) {
  RecentEvents events;
  for (int i = 1; i <= 5; ++i) Add(events, "e/a/", 7, i);
  EXPECT_EQ(Since(events, 4), "beginning 3, 4, 5");
  EXPECT_EQ(Since(events, 1), "1, 2, 3, 4, 5");
  EXPECT_EQ(Since(events, 4, 4), "5") << "the second page";
  EXPECT_EQ(Since(events, 9), "beginning 5") << "nothing since then";
}

TEST_F(RecentEventsSinceTest, ShowsAHoleWhereEventsOfThatTimeAreGone) {
  RecentEvents events(3'000);
  for (int i = 1; i <= 10; ++i) Add(events, "e/a/", 7, i, 500);
  const std::string all = Since(events, 1);
  const int first = std::stoi(all);
  ASSERT_GT(first, 2) << all;
  EXPECT_EQ(Since(events, first - 1), all) << "the last of the lost was sent then";
  EXPECT_EQ(Since(events, first), "beginning " + std::to_string(first - 1) + ", " + all);
}

TEST_F(RecentEventsTest, OneThatIsTooLargeCostsNobodyElseHisPlace) {
  RecentEvents events(10'000);
  Add(events, "e/a/", 7, 1);
  Add(events, "e/b/", 7, 1, 20'000);
  EXPECT_EQ(events.Ends({}).places.size(), 1u);
}

TEST_F(RecentEventsTest, ManyTopicsThatComeAndGoLeaveNothing) {
  RecentEvents events(100'000);
  for (int i = 1; i <= 5000; ++i) Add(events, "e/" + std::to_string(i) + "/", i, 1);
  EXPECT_LT(events.Ends({}).places.size(), 500u);
  EXPECT_LE(events.bytes(), 100'000u);
}

}  // namespace
}  // namespace bus
