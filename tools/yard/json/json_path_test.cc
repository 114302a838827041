#include "tools/yard/json/json_path.h"

#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(JsonPathTest, FindsPlaces) {
  const json value = json::parse(
      R"({"a": {"b": [1, {"c": 2}]}, "x.y": 3, "x": {"": 4}, "m": {"eval/loss": 5}, "n": null,
      "t": "{\"loss\": NaN, \"list\": [7, 8], \"eval/loss\": 0.5}", "l": " [{\"x\": 9}]",
      "s": "x", "broken": "{\"a\": "})");
  struct Row {
    const char* path;
    const char* found;  // Null if nothing is found.
  };
  const Row rows[] = {
      {"a.b[0]", "1"},
      {"a.b[1].c", "2"},
      {"[\"x.y\"]", "3"},
      {"x[\"\"]", "4"},
      {"m.eval/loss", "5"},
      {"a[\"b\"][0]", "1"},
      {"n", "null"},
      {"a.c", nullptr},
      {"a.b[2]", nullptr},
      {"a.b.c", nullptr},
      {"a[0]", nullptr},
      {"n.x", nullptr},
      {"a.b[0].c", nullptr},
      {"a.b[0][0]", nullptr},
      // All elements.
      {"a.b[*]", R"([1,{"c":2}])"},
      {"a.b[*].c", "[2]"},
      {"a[*]", nullptr},
      {"a.b[*].d", nullptr},
      // Strings that contain JSON, as programs report it.
      {"t.loss", "\"NaN\""},
      {"t.list[1]", "8"},
      {"t.list[*]", "[7,8]"},
      {"t.eval/loss", "0.5"},
      {"t.none", nullptr},
      {"l[0].x", "9"},
      {"s.x", nullptr},
      {"broken.a", nullptr},
  };
  for (const Row& row : rows) {
    const auto path = JsonPath::Parse(row.path);
    ASSERT_TRUE(path.ok()) << path.status();
    const auto found = path->Find(value);
    EXPECT_EQ(path->IsIn(value), found.has_value());
    EXPECT_EQ(!found.has_value() ? "nothing" : found->dump(),
              row.found == nullptr ? "nothing" : row.found)
        << row.path;
  }
}

TEST(JsonPathTest, AListAtTheTop) {
  EXPECT_EQ(*JsonPath::Parse("[1]")->Find(json::parse("[1, 2]")), 2);
}

TEST(JsonPathTest, WhatIsNoPathIsSaidWithItsPlace) {
  struct Row {
    const char* text;
    const char* why;
  };
  const Row rows[] = {{"", "column 1: a name"},       {"a.", "column 3: a name"},
                      {"a..b", "column 3: a name"},   {"a[", "column 2: a number or"},
                      {"a[x]", "column 2: a number"}, {"a[-1]", "column 2: a number"},
                      {"a[1", "column 2: a number"},  {"a[\"b]", "column 2: a [\" without"},
                      {"a b", "column 2: a \".\""},   {"a[99999999999999999999]", "column 2"}};
  for (const Row& row : rows) {
    const auto path = JsonPath::Parse(row.text);
    EXPECT_EQ(path.status().code(), absl::StatusCode::kInvalidArgument) << row.text;
    EXPECT_THAT(std::string(path.status().message()), HasSubstr(row.why));
  }
}

TEST(JsonPathTest, LeavesWhatFollows) {
  std::string_view text = "a.b[0]>=3";
  ASSERT_TRUE(JsonPath::Take(&text).ok());
  EXPECT_EQ(text, ">=3");
}

}  // namespace
}  // namespace yard
