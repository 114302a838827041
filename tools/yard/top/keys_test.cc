#include "tools/yard/top/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace yard::top {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = Key::Kind;

std::vector<Key> KeysOf(KeyReader& reader, const std::string& bytes) {
  reader.Add(bytes);
  std::vector<Key> keys;
  while (const auto key = reader.Next()) keys.push_back(*key);
  return keys;
}
std::vector<Key> KeysOf(const std::string& bytes) {
  KeyReader reader;
  return KeysOf(reader, bytes);
}
Key Text(const std::string& text) { return {Kind::kText, text}; }

TEST(KeysTest, CharactersAndControls) {
  EXPECT_THAT(KeysOf("q損"), ElementsAre(Text("q"), Text("損")));
  EXPECT_THAT(KeysOf("\r\x7f\x03\x1a\x0c"),
              ElementsAre(Key{Kind::kEnter}, Key{Kind::kBackspace}, Key{Kind::kInterrupt},
                          Key{Kind::kSuspend}, Key{Kind::kRedraw}));
}

TEST(KeysTest, Sequences) {
  EXPECT_THAT(KeysOf("\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[H\x1b[4~"),
              ElementsAre(Key{Kind::kUp}, Key{Kind::kDown}, Key{Kind::kPageUp},
                          Key{Kind::kPageDown}, Key{Kind::kHome}, Key{Kind::kEnd}));
}

TEST(KeysTest, WhatComesInPiecesIsPutTogether) {
  KeyReader reader;
  EXPECT_THAT(KeysOf(reader, "\x1b"), IsEmpty());
  EXPECT_THAT(KeysOf(reader, "["), IsEmpty());
  EXPECT_THAT(KeysOf(reader, "A"), ElementsAre(Key{Kind::kUp}));
  EXPECT_THAT(KeysOf(reader, "\xe6\x90"), IsEmpty());
  EXPECT_THAT(KeysOf(reader, "\x8d"), ElementsAre(Text("損")));
  EXPECT_FALSE(reader.is_open());
}

TEST(KeysTest, AnEscapeByItselfIsAKeyOnceNothingFollows) {
  KeyReader reader;
  EXPECT_THAT(KeysOf(reader, "\x1b"), IsEmpty());
  EXPECT_TRUE(reader.is_open());
  EXPECT_EQ(reader.Close(), Key{Kind::kEscape});
  EXPECT_THAT(KeysOf(reader, "\x1bq"), ElementsAre(Key{Kind::kEscape}, Text("q")));
}

// The letters of an unknown sequence must not act as keys: a stray sequence must not stop a trial.
TEST(KeysTest, UnknownSequencesAreLeftOutAsAWhole) {
  EXPECT_THAT(KeysOf("\x1b[1;5q\x1b[200~\x1b[<0;1;1M"
                     "\xff\xfe\x01\x80"),
              IsEmpty());
  EXPECT_THAT(KeysOf("\x1b[" + std::string(1000, '1')), ::testing::SizeIs(1000 - 30));
}

}  // namespace
}  // namespace yard::top
