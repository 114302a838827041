#include "eventlog/tag_table.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>

namespace eventlog {
namespace {

TEST(TagTableTest, NumbersTagsInTheOrderInWhichTheyAreSeen) {
  TagTable tags;
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(tags.Intern("loss"), 0u);
    EXPECT_EQ(tags.Intern("accuracy"), 1u);
    EXPECT_EQ(tags.Intern(""), 2u);
    EXPECT_EQ(tags.Intern("loss/x"), 3u);
  }
  EXPECT_EQ(tags.size(), 4u);
  EXPECT_EQ(tags.name(1), "accuracy");
  EXPECT_EQ(tags.name(2), "");
  EXPECT_EQ(tags.Find("loss/x"), 3u);
  EXPECT_EQ(tags.Find("lr"), TagTable::kNone);
}

TEST(TagTableTest, AnyOrderGivesTheSameNumbers) {
  TagTable tags;
  std::map<std::string, TagTable::Id> expected;
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::string tag = "tag/" + std::to_string(random() % 500 * (random() % 2));
    const TagTable::Id id = tags.Intern(tag);
    ASSERT_EQ(id, expected.try_emplace(tag, expected.size()).first->second);
    ASSERT_EQ(tags.name(id), tag);
  }
}

TEST(TagTableTest, ANameOverTheLimitHasNoNumberAndDisturbsNobody) {
  TagTable tags;
  const std::string longest(TagTable::kMaxTagBytes, 'x');
  for (int step = 0; step < 2; ++step) {
    EXPECT_EQ(tags.Intern("a"), 0u);
    EXPECT_EQ(tags.Intern(longest + "x"), TagTable::kNone);
    EXPECT_EQ(tags.Intern("b"), 1u);
    EXPECT_EQ(tags.Intern(longest), 2u);
  }
  EXPECT_EQ(tags.name(2), longest);
}

TEST(TagTableTest, NoMoreTagsThanThereIsRoomForHaveNumbers) {
  TagTable tags, one;
  one.Intern("one");
  for (std::size_t i = 1; i < TagTable::kMaxTags; ++i) tags.Intern(std::to_string(i));
  EXPECT_TRUE(tags.HasRoomFor(one));
  EXPECT_EQ(tags.Intern("the last"), TagTable::kMaxTags - 1);
  EXPECT_FALSE(tags.HasRoomFor(one));
  EXPECT_FALSE(tags.overflowed());
  for (int step = 0; step < 2; ++step) {
    EXPECT_EQ(tags.Intern("1"), 0u);
    EXPECT_EQ(tags.Intern("too many"), TagTable::kNone);
    EXPECT_EQ(tags.Intern("the last"), TagTable::kMaxTags - 1);
  }
  EXPECT_TRUE(tags.overflowed());
  EXPECT_EQ(tags.size(), TagTable::kMaxTags);

  TagTable names;
  const std::string name(TagTable::kMaxTagBytes - 8, 'x');
  const std::size_t room = TagTable::kMaxNameBytes / TagTable::kMaxTagBytes;
  for (std::size_t i = 0; i < room; ++i) {
    ASSERT_NE(names.Intern(name + std::to_string(10'000'000 + i)), TagTable::kNone);
  }
  EXPECT_EQ(names.Intern("x"), TagTable::kNone);
  EXPECT_FALSE(TagTable().HasRoomFor(names));
}

TEST(TagTableTest, HoldsVeryManyTagsInLittleMemory) {
  TagTable tags;
  constexpr std::size_t kTags = 300'000;
  for (std::size_t i = 0; i < kTags; ++i) tags.Intern("layer/" + std::to_string(i) + "/weights");
  ASSERT_EQ(tags.size(), kTags);
  EXPECT_LT(tags.Bytes() / kTags, 200u);
  EXPECT_EQ(tags.name(0), "layer/0/weights");
  EXPECT_EQ(tags.Find("layer/299999/weights"), kTags - 1);

  TagTable few;
  few.Intern("loss");
  EXPECT_LT(few.Bytes(), 1000u);
}

}  // namespace
}  // namespace eventlog
