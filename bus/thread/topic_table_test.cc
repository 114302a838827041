#include "bus/thread/topic_table.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bus {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Frame Body(std::size_t size, char fill = 'x') {
  return Frame(std::string_view(std::string(size, fill)));
}

std::vector<std::string> TopicsOf(const TopicTable::Page& page) {
  std::vector<std::string> topics;
  for (const TopicTable::Row& row : page.rows) topics.push_back(row.topic);
  return topics;
}

TEST(TopicTableTest, CountsAndKeepsTheLastMessageOfATopic) {
  TopicTable table;
  table.Put("e/a/", Body(10, 'a'), 5);
  table.Put("e/b/", Body(1), 6);
  table.Put("e/a/", Body(30, 'b'), 7);
  const auto row = table.Find("e/a/");
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->topic, "e/a/");
  EXPECT_EQ(row->events, 2u);
  EXPECT_EQ(row->bytes, 40u);
  EXPECT_EQ(row->first_us, 5);
  EXPECT_EQ(row->last_us, 7);
  ASSERT_TRUE(row->last.has_value());
  EXPECT_EQ(row->last->text(), std::string(30, 'b'));
  EXPECT_EQ(table.Last("e/a/")->text(), std::string(30, 'b'));
  EXPECT_EQ(table.bytes(), 31u);
  EXPECT_FALSE(table.Find("e/").has_value());
  EXPECT_FALSE(table.Last("e/c/").has_value());
}

TEST(TopicTableTest, ForgetsTheTopicsUnusedForTheLongest) {
  TopicTable table(3);
  for (const char* topic : {"a/", "b/", "c/", "a/", "d/"}) table.Put(topic, Body(1), 0);
  EXPECT_THAT(TopicsOf(table.List("", "", 10)), ElementsAre("a/", "c/", "d/"));
  EXPECT_FALSE(table.Find("b/").has_value());
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(table.bytes(), 3u);
}

TEST(TopicTableTest, OverTheBytesTheOldestMessagesGoAndTheirTopicsAreStillCounted) {
  TopicTable table(100, 80);
  for (const char* topic : {"a/", "b/", "c/"}) {
    for (int i = 0; i < 3; ++i) table.Put(topic, Body(10), 0);
  }
  for (int i = 0; i < 7; ++i) table.Put("d/" + std::to_string(i) + "/", Body(10), 0);
  // 10 messages of 10 bytes were put; those of a/ and b/ were evicted.
  EXPECT_EQ(table.bytes(), 80u);
  EXPECT_FALSE(table.Last("a/").has_value());
  EXPECT_FALSE(table.Last("b/").has_value());
  EXPECT_TRUE(table.Last("c/").has_value());
  EXPECT_EQ(table.Find("a/")->events, 3u);
  // Using a/ again keeps it again; c/ is now the oldest.
  table.Put("a/", Body(10), 0);
  EXPECT_TRUE(table.Last("a/").has_value());
  EXPECT_FALSE(table.Last("c/").has_value());
  EXPECT_EQ(table.Find("a/")->events, 4u);
  EXPECT_EQ(table.bytes(), 80u);
}

TEST(TopicTableTest, OneThatIsTooLargeIsCountedAndNotKept) {
  TopicTable table(100, 80);
  table.Put("a/", Body(10), 0);
  table.Put("a/", Body(11), 1);
  EXPECT_FALSE(table.Last("a/").has_value());
  EXPECT_EQ(table.Find("a/")->events, 2u);
  EXPECT_EQ(table.Find("a/")->bytes, 21u);
  EXPECT_EQ(table.bytes(), 0u);
}

// The limits hold, and the most recently used entries are kept, in whatever order they are used.
TEST(TopicTableTest, HoldsItsBoundsUnderAnyUse) {
  constexpr std::size_t kTopics = 14, kBytes = 160;
  TopicTable table(kTopics, kBytes);
  std::vector<std::pair<std::string, std::size_t>> model;  // Oldest first; size 0: not kept.
  std::uint32_t random = 1;
  for (int i = 0; i < 20'000; ++i) {
    random = random * 1'664'525 + 1'013'904'223;
    const std::string topic = std::to_string(random >> 28) + "/";
    const std::size_t size = 8 + (random >> 20) % 16;  // Some exceed an eighth of kBytes.
    table.Put(topic, Body(size), i);
    std::erase_if(model, [&](const auto& entry) { return entry.first == topic; });
    model.emplace_back(topic, size <= kBytes / 8 ? size : 0);
    std::size_t total = 0;
    for (const auto& entry : model) total += entry.second;
    for (auto entry = model.begin(); total > kBytes; ++entry) {
      total -= entry->second;
      entry->second = 0;
    }
    if (model.size() > kTopics) {
      total -= model.front().second;
      model.erase(model.begin());
    }
    ASSERT_EQ(table.bytes(), total) << i;
    ASSERT_EQ(table.size(), model.size()) << i;
    for (const auto& entry : model) {
      const auto last = table.Last(entry.first);
      ASSERT_EQ(last.has_value() ? last->size() : 0, entry.second) << i << " " << entry.first;
    }
  }
}

TEST(TopicTableTest, PagesAreInOrderAndEndWithTheLast) {
  TopicTable table;
  for (const char* topic : {"e/c/", "e/a/", "t/a/", "e/b/", "e/d/"}) table.Put(topic, Body(1), 0);
  const auto first = table.List("e/", "", 2);
  EXPECT_THAT(TopicsOf(first), ElementsAre("e/a/", "e/b/"));
  EXPECT_TRUE(first.more);
  const auto second = table.List("e/", "e/b/", 2);
  EXPECT_THAT(TopicsOf(second), ElementsAre("e/c/", "e/d/"));
  EXPECT_FALSE(second.more);
  EXPECT_THAT(TopicsOf(table.List("e/", "e/d/", 2)), IsEmpty());
  EXPECT_THAT(TopicsOf(table.List("x/", "", 2)), IsEmpty());
  const auto none = table.List("", "", 0);
  EXPECT_THAT(TopicsOf(none), IsEmpty());
  EXPECT_TRUE(none.more);
}

}  // namespace
}  // namespace bus
