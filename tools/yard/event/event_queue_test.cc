#include "tools/yard/event/event_queue.h"

#include <string>
#include <thread>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/clock.h"

namespace yard {
namespace {

const absl::Duration kNow = absl::ZeroDuration();  // In the past for any clock.
const absl::Duration kNever = absl::InfiniteDuration();

EventQueue::Item Event(std::string text) { return {.topic = "e/", .text = std::move(text)}; }

TEST(EventQueueTest, GivesOutInOrder) {
  EventQueue queue({});
  queue.Add(Event("1"));
  queue.Add({.topic = "e/", .is_loss = true, .lost_events = 3});
  queue.Add(Event("2"));
  EXPECT_EQ(queue.Take(kNever)->text, "1");
  EXPECT_EQ(queue.Take(kNever)->lost_events, 3U);
  EXPECT_EQ(queue.Take(kNever)->text, "2");
  EXPECT_FALSE(queue.Take(kNow).has_value());
  EXPECT_FALSE(queue.closed());
}

TEST(EventQueueTest, HasHalfUntilHalfIsUsed) {
  EventQueue queue({.max_items = 4, .max_bytes = 100});
  queue.Add(Event("1"));
  EXPECT_TRUE(queue.HasHalf());
  queue.Add(Event("2"));
  EXPECT_FALSE(queue.HasHalf());
  EXPECT_TRUE(queue.Take(kNow).has_value());
  EXPECT_TRUE(queue.HasHalf());
  queue.Add(Event(std::string(60, 'x')));
  EXPECT_FALSE(queue.HasHalf());
}

TEST(EventQueueTest, TellsADropWhereItHappened) {
  EventQueue queue({.max_items = 2});
  for (const char* text : {"1", "2", "3", "4"}) queue.Add(Event(text));
  EXPECT_EQ(queue.Take(kNow)->text, "1");
  queue.Add(Event("5"));  // Fits, but comes after a dropped item.
  EXPECT_EQ(queue.Take(kNow)->text, "2");
  const auto loss = queue.Take(kNow);
  ASSERT_TRUE(loss.has_value());
  EXPECT_TRUE(loss->is_loss);
  EXPECT_EQ(loss->lost_events, 3U);
  queue.Add(Event("6"));
  EXPECT_EQ(queue.Take(kNow)->text, "6");
}

TEST(EventQueueTest, CountsLossesThatHaveNoRoom) {
  EventQueue queue({.max_items = 1});
  queue.Add(Event("1"));
  queue.Add(Event("2"));
  queue.Add({.topic = "e/", .is_loss = true, .lost_events = 4});
  (void)queue.Take(kNow);
  EXPECT_EQ(queue.Take(kNow)->lost_events, 5U);
}

TEST(EventQueueTest, IsBoundedInBytesToo) {
  EventQueue queue({.max_bytes = 100});
  queue.Add(Event(std::string(1000, 'x')));
  queue.Add(Event("2"));
  EXPECT_EQ(queue.Take(kNow)->text.size(), 1000U) << "one that is too big alone goes through";
  EXPECT_TRUE(queue.Take(kNow)->is_loss);
  queue.Add(Event(std::string(90, 'x')));
  queue.Add(Event(std::string(90, 'x')));
  EXPECT_FALSE(queue.Take(kNow)->is_loss);
  EXPECT_TRUE(queue.Take(kNow)->is_loss);
}

TEST(EventQueueTest, CloseWakesTheOneWhoWaits) {
  EventQueue queue({});
  std::thread closes([&] { queue.Close(); });
  EXPECT_FALSE(queue.Take(kNever).has_value());
  EXPECT_TRUE(queue.closed());
  closes.join();
}

TEST(EventQueueTest, AnEventWakesTheOneWhoWaits) {
  EventQueue queue({});
  std::thread adds([&] { queue.Add(Event("1")); });
  EXPECT_EQ(queue.Take(kNever)->text, "1");
  adds.join();
}

TEST(EventQueueTest, NothingIsGivenOutAfterClose) {
  EventQueue queue({});
  queue.Add(Event("1"));
  queue.Close();
  queue.Add(Event("2"));
  EXPECT_FALSE(queue.Take(kNever).has_value());
}

}  // namespace
}  // namespace yard
