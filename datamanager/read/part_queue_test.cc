#include "datamanager/read/part_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace datamanager {
namespace {

struct FakePart {
  bool complete() const { return done; }
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool done = false;
};
using Queue = PartQueue<FakePart>;

class PartQueueTest : public testing::Test {
 protected:
  void Begin(Queue::Range range, std::size_t ahead) { Begin(range, 10, ahead); }
  void Begin(Queue::Range range, std::uint64_t part_bytes, std::size_t ahead) {
    queue_.Begin(range, part_bytes, ahead, [](Queue::Range part) {
      return std::make_unique<FakePart>(FakePart{part.begin, part.end, false});
    });
  }
  void Give(Queue::Ticket ticket, bool complete) {
    ticket.part->done = complete;
    queue_.Give(std::move(ticket));
  }

  Queue queue_;
};

TEST_F(PartQueueTest, PartsCoverTheRange) {
  for (const std::uint64_t bytes : {1, 10, 19, 20, 29, 30, 101}) {
    for (const std::size_t ahead : {1, 2, 4, 60}) {
      Begin({100, 100 + bytes}, ahead);
      std::uint64_t at = 100;
      for (Queue::Ticket ticket = queue_.Take(); ticket.part != nullptr; ticket = queue_.Take()) {
        EXPECT_EQ(ticket.part->begin, at);
        EXPECT_GT(ticket.part->end, at);
        at = ticket.part->end;
        Give(std::move(ticket), true);
        queue_.PopFront();
      }
      EXPECT_EQ(at, 100 + bytes);
      EXPECT_TRUE(queue_.empty());
    }
  }
}

// Two threads of equal speed finish at most one part apart, so the remainder that one of them reads
// alone is small.
TEST_F(PartQueueTest, TheLastPartsAreSmall) {
  Begin({0, 1000}, 80, 4);
  std::vector<std::uint64_t> sizes;
  for (Queue::Ticket ticket = queue_.Take(); ticket.part != nullptr; ticket = queue_.Take()) {
    sizes.push_back(ticket.part->end - ticket.part->begin);
    Give(std::move(ticket), true);
    queue_.PopFront();
  }
  EXPECT_EQ(sizes.front(), 80u);
  EXPECT_LT(sizes.back(), 20u);
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    EXPECT_LE(sizes[i], i + 1 < sizes.size() ? sizes[i - 1] : 19u) << i;
    EXPECT_GE(sizes[i], 10u) << "what is smaller is not worth a part";
  }
}

// While two parts can be taken, the queue must not report that one thread suffices.
TEST_F(PartQueueTest, ThereAreHandsForAllPartsThatCanBeTaken) {
  for (const std::uint64_t bytes : {1, 9, 10, 11, 35, 100, 1000}) {
    Begin({0, bytes}, 80, 4);
    while (!queue_.empty()) {
      const std::size_t hands = queue_.hands();
      std::vector<Queue::Ticket> out;
      for (Queue::Ticket ticket = queue_.Take(); ticket.part != nullptr; ticket = queue_.Take()) {
        out.push_back(std::move(ticket));
      }
      EXPECT_EQ(out.size(), hands);
      Give(std::move(out.front()), true);
      for (std::size_t i = 1; i < out.size(); ++i) Give(std::move(out[i]), false);
      queue_.PopFront();
    }
    EXPECT_EQ(queue_.hands(), 0u);
  }
}

TEST_F(PartQueueTest, TheyAreThereInOrderWhenTheyAreComplete) {
  Begin({0, 20}, 80, 2);
  EXPECT_EQ(queue_.hands(), 2u);
  Queue::Ticket first = queue_.Take();
  Queue::Ticket second = queue_.Take();
  EXPECT_EQ(queue_.hands(), 2u);
  EXPECT_EQ(queue_.Take().part, nullptr);
  Give(std::move(second), true);
  EXPECT_EQ(queue_.Front(), nullptr);
  EXPECT_EQ(queue_.hands(), 1u);
  Give(std::move(first), false);
  EXPECT_EQ(queue_.Front(), nullptr);
  first = queue_.Take();
  EXPECT_EQ(first.part->begin, 0u) << "it is read on";
  Give(std::move(first), true);
  ASSERT_NE(queue_.Front(), nullptr);
  EXPECT_EQ(queue_.front_begin(), 0u);
  queue_.PopFront();
  EXPECT_EQ(queue_.Front()->begin, 10u);
  EXPECT_FALSE(queue_.empty());
  queue_.PopFront();
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(queue_.front_begin(), 20u);
}

TEST_F(PartQueueTest, OnlySoManyAreAheadOfTheFirst) {
  Begin({0, 1000}, 2);
  Queue::Ticket first = queue_.Take();
  Give(queue_.Take(), true);
  EXPECT_EQ(queue_.Take().part, nullptr);
  EXPECT_EQ(queue_.hands(), 1u);
  Give(std::move(first), true);
  queue_.PopFront();
  EXPECT_EQ(queue_.Take().part->begin, 20u);
}

TEST_F(PartQueueTest, WhatComesBackTooLateIsThrownAway) {
  Begin({0, 40}, 4);
  Queue::Ticket late = queue_.Take();
  queue_.Clear();
  EXPECT_TRUE(queue_.empty());
  Begin({100, 140}, 4);
  const Queue::Ticket now = queue_.Take();
  Give(std::move(late), true);
  EXPECT_EQ(queue_.Front(), nullptr);
  EXPECT_EQ(now.part->begin, 100u);
}

}  // namespace
}  // namespace datamanager
