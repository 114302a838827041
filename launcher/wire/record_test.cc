#include "launcher/wire/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace launcher {
namespace {

using ::testing::ElementsAre;

TEST(RecordTest, ComesBackAsItWas) {
  Record record("kind");
  record.Add("bytes", std::string("a\0\n 5\n\xff", 7));
  record.AddNumber("number", -7);
  record.AddAll("list", {"", "x", "y y"});
  const auto back = Record::Parse(record.Encode());
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->kind(), "kind");
  EXPECT_EQ(back->Get("bytes"), std::string("a\0\n 5\n\xff", 7));
  EXPECT_EQ(back->GetNumber("number"), -7);
  EXPECT_THAT(back->GetAll("list"), ElementsAre("", "x", "y y"));
  EXPECT_FALSE(back->Has("other"));
}

TEST(RecordTest, RefusesEveryCutOffRecord) {
  Record record("kind");
  record.Add("key", "value");
  record.Add("other", std::string(100, 'x'));
  const std::string whole = record.Encode();
  std::size_t whole_prefixes = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    whole_prefixes += Record::Parse(whole.substr(0, size)).has_value();
  }
  EXPECT_EQ(whole_prefixes, 2u);  // After the header and after the first field.
}

TEST(RecordTest, RefusesAnotherVersionAndLengthsThatLie) {
  EXPECT_FALSE(Record::Parse("YARD-RECORD 2 kind\n").has_value());
  EXPECT_FALSE(Record::Parse("YARD-RECORD 1 kind\nkey -1\nx\n").has_value());
  EXPECT_FALSE(Record::Parse("YARD-RECORD 1 kind\nkey 99999999999999999999\nx\n").has_value());
  EXPECT_FALSE(Record::Parse("YARD-RECORD 1 kind\nkey 9223372036854775807\nx\n").has_value());
  EXPECT_FALSE(Record::Parse("YARD-RECORD 1 kind\nkey 0\nx\n").has_value());
}

}  // namespace
}  // namespace launcher
