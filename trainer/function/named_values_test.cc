#include "trainer/function/named_values.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const std::function<void()>& access) {
  try {
    access();
  } catch (const std::invalid_argument& refused) {
    return refused.what();
  }
  return "not refused";
}

TEST(ValueTest, IsWrittenSoThatItIsReadAgainAsTheSame) {
  const struct {
    Value value;
    std::string json;
  } kCases[] = {
      {Value(), "null"},
      {true, "true"},
      {0, "0"},
      {std::numeric_limits<std::int64_t>::min(), "-9223372036854775808"},
      {std::uint64_t{1} << 63, "9223372036854775808"},
      {0.1, "0.1"},
      {2.0, "2.0"},
      {-0.0, "-0.0"},
      {1e300, "1e+300"},
      {5e-324, "5e-324"},
      {1.0f / 3, "0.3333333432674408"},
      {std::numeric_limits<double>::infinity(), "Infinity"},
      {"a \"b\"\n", R"("a \"b\"\n")"},
      {"", R"("")"},
  };
  for (const auto& [value, json] : kCases) {
    std::string written;
    value.AppendJson(written);
    // Numbers over 64 bits become doubles, and may be written with other digits.
    if (json != "9223372036854775808") {
      EXPECT_EQ(written, json);
    }
    const auto again = Value::FromJson(written);
    ASSERT_EQ(again.status(), absl::OkStatus()) << json;
    EXPECT_EQ(*again, value) << json;
  }
}

TEST(ValueTest, NanStaysNan) {
  std::string written;
  Value(std::nan("")).AppendJson(written);
  EXPECT_EQ(written, "NaN");
  EXPECT_TRUE(std::isnan(Value::FromJson(written)->AsNumber().value_or(0)));
}

TEST(ValueTest, ConvertsOnlyWhatIsExact) {
  EXPECT_EQ(Value(3).AsNumber(), 3.0);
  EXPECT_EQ(Value(true).AsNumber(), 1.0);
  EXPECT_EQ(Value("3").AsNumber(), std::nullopt);
  EXPECT_EQ(Value(3.0).AsInteger(), 3);
  EXPECT_EQ(Value(3.5).AsInteger(), std::nullopt);
  EXPECT_EQ(Value(1e300).AsInteger(), std::nullopt);
  EXPECT_EQ(Value(std::nan("")).AsInteger(), std::nullopt);
  EXPECT_EQ(Value(true).AsInteger(), std::nullopt);
  EXPECT_EQ(Value(1).AsBool(), std::nullopt);
}

TEST(NamedValuesTest, KeepsOrderAndTheLastValueOfAName) {
  NamedValues values{{"loss", 0.5}, {"epoch", 1}, {"loss", 0.25}};
  values.Set("note", "late");
  values.Set("epoch", 2);
  EXPECT_EQ(values.ToJson(), R"({"loss":0.25,"epoch":2,"note":"late"})");
  EXPECT_EQ(values.count(), 3u);
}

TEST(NamedValuesTest, FlattensWhatIsNested) {
  const auto values =
      NamedValues::FromJson(R"({"a":{"b":{"c":1}},"list":[1,{"x":2}],"none":{},"a/b/c":2})");
  ASSERT_EQ(values.status(), absl::OkStatus());
  EXPECT_EQ(values->ToJson(), R"({"a/b/c":2,"list":[1,{"x":2}]})");
  EXPECT_EQ(*NamedValues::FromJson(values->ToJson()), *values);
}

TEST(NamedValuesTest, RefusesWhatIsNoObject) {
  for (const char* json : {"", "[]", "1", "{", "{\"a\":1}x", "null"}) {
    EXPECT_EQ(NamedValues::FromJson(json).status().code(), absl::StatusCode::kInvalidArgument)
        << json;
  }
}

TEST(NamedValuesTest, ManyNamesAreReadInTime) {
  std::string json = "{";
  for (int i = 0; i < 15'000; ++i) absl::StrAppend(&json, i == 0 ? "" : ",", "\"n", i, "\":", i);
  const auto values = NamedValues::FromJson(json + "}");
  ASSERT_EQ(values.status(), absl::OkStatus());
  EXPECT_EQ(values->count(), 15'000u);
  EXPECT_GT(values->size(), 15'000u * sizeof(Value));
}

TEST(NamedValuesTest, NamesWhatIsMissingOrOfAnotherKind) {
  const NamedValues values{{"lr", 0.1}, {"layers", 2}, {"name", "net"}, {"on", true}};
  EXPECT_EQ(values.Number("lr"), 0.1);
  EXPECT_EQ(values.Number("layers"), 2);
  EXPECT_EQ(values.Number("rate", 3), 3);
  EXPECT_EQ(values.Integer("layers"), 2);
  EXPECT_EQ(values.Integer("depth", 7), 7);
  EXPECT_EQ(values.Text("name"), "net");
  EXPECT_EQ(values.Text("title", "x"), "x");
  EXPECT_TRUE(values.Bool("on", false));
  EXPECT_TRUE(values.Bool("off", true));
  EXPECT_THAT(Refusal([&] { values.Number("rate"); }), HasSubstr("\"rate\" is not there"));
  EXPECT_THAT(Refusal([&] { values.Integer("lr", 1); }),
              HasSubstr("\"lr\" is 0.1, not an integer"));
  EXPECT_THAT(Refusal([&] { values.Number("name"); }), HasSubstr("is \"net\", not a number"));
  EXPECT_THAT(Refusal([&] { values.Text("lr"); }), HasSubstr("not a text"));
  EXPECT_THAT(Refusal([&] { values.Bool("layers", true); }), HasSubstr("not true or false"));
}

}  // namespace
}  // namespace trainer
