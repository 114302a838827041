#include "datamanager/tensorboard/choice_cache.h"

#include <cstddef>
#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace datamanager::tensorboard {
namespace {

std::shared_ptr<const std::string> Text(std::size_t bytes, char of = 'x') {
  return std::make_shared<const std::string>(bytes, of);
}

TEST(ChoiceCacheTest, HasWhatWasPutOfThatSeriesAndState) {
  ChoiceCache cache(1 << 20);
  const ChoiceCache::Series series = {.run = "r", .tag = 1, .limit = 1000};
  EXPECT_EQ(cache.Find(series, {.generation = 1, .points = 5}), nullptr);
  const auto message = Text(10);
  cache.Put(series, {.generation = 1, .points = 5}, message);
  EXPECT_EQ(cache.Find(series, {.generation = 1, .points = 5}), message);
  // A point was added; the run was read again; another series is requested.
  EXPECT_EQ(cache.Find(series, {.generation = 1, .points = 6}), nullptr);
  EXPECT_EQ(cache.Find(series, {.generation = 2, .points = 5}), nullptr);
  for (const ChoiceCache::Series& other :
       {ChoiceCache::Series{.run = "s", .tag = 1, .limit = 1000},
        ChoiceCache::Series{.run = "r", .tag = 2, .limit = 1000},
        ChoiceCache::Series{.run = "r", .tag = 1, .limit = 999}}) {
    EXPECT_EQ(cache.Find(other, {.generation = 1, .points = 5}), nullptr);
  }
}

TEST(ChoiceCacheTest, AnotherStateTakesThePlaceOfTheOneBefore) {
  ChoiceCache cache(1 << 20);
  const ChoiceCache::Series series = {.run = "r"};
  cache.Put(series, {.points = 5}, Text(1000));
  const std::size_t one = cache.bytes();
  cache.Put(series, {.points = 6}, Text(1000));
  EXPECT_EQ(cache.bytes(), one);
  EXPECT_EQ(cache.Find(series, {.points = 5}), nullptr);
  EXPECT_NE(cache.Find(series, {.points = 6}), nullptr);
}

TEST(ChoiceCacheTest, WhatWasNotUsedForLongestGoesFirst) {
  ChoiceCache cache(4000);
  for (const char* run : {"a", "b", "c"}) cache.Put({.run = run}, {}, Text(1000));
  EXPECT_NE(cache.Find({.run = "a"}, {}), nullptr);
  cache.Put({.run = "d"}, {}, Text(1000));
  EXPECT_EQ(cache.Find({.run = "b"}, {}), nullptr);
  EXPECT_NE(cache.Find({.run = "a"}, {}), nullptr);
  EXPECT_LE(cache.bytes(), 4000u);
}

TEST(ChoiceCacheTest, AMessageThatIsTooLargeIsNotKept) {
  ChoiceCache cache(4000);
  cache.Put({.run = "a"}, {}, Text(1000));
  cache.Put({.run = "b"}, {}, Text(5000));
  EXPECT_EQ(cache.Find({.run = "b"}, {}), nullptr);
  EXPECT_NE(cache.Find({.run = "a"}, {}), nullptr);
}

}  // namespace
}  // namespace datamanager::tensorboard
