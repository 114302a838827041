#include "eventlog/scalar_event.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "eventlog/event.h"
#include "eventlog/testing/same_event.h"

namespace eventlog {
namespace {

using namespace std::string_literals;

std::string Message(char key, const std::string& content) {
  std::string field(1, key);
  std::size_t size = content.size();
  for (; size >= 0x80; size >>= 7) field += static_cast<char>(size | 0x80);
  return field + static_cast<char>(size) + content;
}
template <typename Number>
std::string Fixed(char key, Number value) {
  std::string field(1 + sizeof value, key);
  std::memcpy(field.data() + 1, &value, sizeof value);
  return field;
}
template <typename Number>
std::string Raw(Number value) {
  return Fixed('x', value).substr(1);
}

std::string Tag(const std::string& tag) { return Message('\x0A', tag); }
std::string Simple(float value) { return Fixed('\x15', value); }
std::string Tensor(const std::string& content) { return Message('\x42', content); }
std::string Metadata(const std::string& content) { return Message('\x4A', content); }
std::string Value(const std::string& content) { return Message('\x0A', content); }
std::string Summary(const std::string& values) { return Message('\x2A', values); }
std::string Head(double wall_time, const std::string& step = "\x10\x05") {
  return Fixed('\x09', wall_time) + step;
}
std::string One(const std::string& value) {
  return Head(1.5) + Summary(Value(Tag("loss") + value));
}

const char kScalars[] = "\x0A\x09\x0A\x07scalars";

struct Case {
  std::string name, payload;
};

std::vector<Case> Scalars() {
  std::string many;
  for (int i = 0; i < 50; ++i) many += Value(Tag("tag/" + std::to_string(i)) + Simple(i));
  return {
      {"a float", One(Simple(0.5))},
      {"a float with its double", One(Simple(0.1F) + "\xC1\x3E" + Raw(0.1))},
      {"a float with a double that is not its own", One(Simple(1) + "\xC1\x3E" + Raw(7.0))},
      {"NaN", One(Simple(std::nanf("")))},
      {"an empty tag", Head(1) + Summary(Value(Tag("") + Simple(1)))},
      {"a tag of 300 bytes", Head(1) + Summary(Value(Tag(std::string(300, 'x')) + Simple(1)))},
      {"no step", Head(1, "") + Summary(Value(Tag("a") + Simple(1)))},
      {"a large step", Head(1, "\x10\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F") + Summary("")},
      {"a step with more bytes than it needs", Head(1, "\x10\x81\x80\x80\x00"s) + Summary("")},
      {"no values", Head(1) + Summary("")},
      {"many values", Head(1) + Summary(many)},
      {"a wall time that is none", Head(std::nan("")) + Summary(Value(Tag("a") + Simple(1)))},
      {"a packed float", One(Tensor("\x08\x01\x12\x00\x2A\x04"s + Raw(2.5f)))},
      {"a single float", One(Tensor("\x08\x01\x12\x00"s + Fixed('\x2D', 2.5f)))},
      {"a float as content", One(Tensor("\x08\x01\x12\x00\x22\x04"s + Raw(2.5f)))},
      {"no shape", One(Tensor("\x08\x01\x2A\x04"s + Raw(2.5f)))},
      {"a packed double", One(Tensor("\x08\x02\x12\x00\x32\x08"s + Raw(2.5)))},
      {"a single double", One(Tensor("\x08\x02\x12\x00"s + Fixed('\x31', 2.5)))},
      {"a double as content", One(Tensor("\x08\x02\x12\x00\x22\x08"s + Raw(2.5)))},
      {"metadata", One(Simple(1) + Metadata(kScalars))},
      {"metadata and a class", One(Simple(1) + Metadata(kScalars + "\x20\x01"s))},
      {"a tensor with metadata",
       One(Tensor("\x08\x01\x12\x00\x2A\x04"s + Raw(2.5f)) + Metadata(kScalars + "\x20\x01"s))},
      {"a plugin with content", One(Simple(1) + Metadata("\x0A\x06\x0A\x01s\x12\x01x"))},
      {"names", One(Simple(1) + Metadata(kScalars + "\x12\x01n\x1A\x02xy\x20\x02"s))},
      {"empty metadata", One(Simple(1) + Metadata(""))},
  };
}

TEST(ScalarEventTest, WhatItTakesIsWhatDecodeEventMakesOfIt) {
  Event fast, whole;
  for (const Case& c : Scalars()) {
    EXPECT_TRUE(DecodeScalarEvent(c.payload, &fast)) << c.name;
    ASSERT_TRUE(DecodeEvent(c.payload, &whole).ok()) << c.name;
    EXPECT_TRUE(SameEvent(fast, whole)) << c.name;
  }
}

TEST(ScalarEventTest, LeavesAllThatIsNoPlainScalarAlone) {
  const std::string good = Summary(Value(Tag("a") + Simple(1)));
  const Case cases[] = {
      {"nothing", ""},
      {"no wall time", "\x10\x05" + good},
      {"a negative step", Head(1, "\x10\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01") + good},
      {"a file version", Head(1) + Message('\x1A', "brain.Event:2")},
      {"a graph", Head(1) + Message('\x22', "graph")},
      {"something behind", Head(1) + good + "\x10\x05"},
      {"an unknown field", Head(1) + "\x78\x01" + good},
      {"a field of a value", One("\x78\x01" + Simple(1))},
      {"no tag", Head(1) + Summary(Value(Simple(1)))},
      {"no value", One("")},
      {"metadata alone", One(Metadata(kScalars))},
      {"an image", One(Message('\x22', "image"))},
      {"a histogram", One(Message('\x2A', "histogram"))},
      {"rank 1", One(Tensor("\x08\x01\x12\x04\x12\x02\x08\x01\x2A\x04"s + Raw(2.5f)))},
      {"two floats", One(Tensor("\x08\x01\x12\x00\x2A\x08"s + Raw(2.5f) + Raw(2.5f)))},
      {"text", One(Tensor("\x08\x07\x12\x00\x42\x01x"s))},
      {"an integer", One(Tensor("\x08\x09\x12\x00\x52\x01\x05"s))},
      {"no number", One(Tensor("\x08\x01\x12\x00"s))},
      {"more values than it likes", Head(1) + Summary([] {
                                      std::string values;
                                      for (int i = 0; i < 10'001; ++i)
                                        values += Value(Tag("a") + Simple(1));
                                      return values;
                                    }())},
  };
  Event event;
  for (const Case& c : cases) EXPECT_FALSE(DecodeScalarEvent(c.payload, &event)) << c.name;
}

TEST(ScalarEventTest, NoChangedOrMissingByteMakesADifference) {
  Event fast, whole;
  int taken = 0;
  const auto check = [&](const std::string& payload) {
    if (!DecodeScalarEvent(payload, &fast)) return true;
    ++taken;
    return DecodeEvent(payload, &whole).ok() && SameEvent(fast, whole);
  };
  for (const Case& c : Scalars()) {
    for (std::size_t i = 0; i < c.payload.size(); ++i) {
      ASSERT_TRUE(check(c.payload.substr(0, i))) << c.name << " cut at " << i;
      // The first bytes of a long payload are representative.
      if (i > 200) continue;
      for (int byte = 0; byte < 256; ++byte) {
        std::string changed = c.payload;
        changed[i] = static_cast<char>(byte);
        ASSERT_TRUE(check(changed)) << c.name << " with " << byte << " at " << i;
      }
    }
  }
  EXPECT_GT(taken, 10'000);
}

}  // namespace
}  // namespace eventlog
