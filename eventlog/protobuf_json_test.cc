#include "eventlog/protobuf_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace eventlog {
namespace {

using testing::Bytes;
using testing::Double;
using testing::Float;
using testing::FloatBytes;
using testing::Number;
using testing::Varint;

const JsonMessage& Inner() {
  static constexpr JsonField kFields[] = {{1, "a", JsonKind::kInteger}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& Choice() {
  static constexpr JsonField kFields[] = {{1, "i", JsonKind::kInteger},
                                          {2, "s", JsonKind::kText},
                                          {3, "list", JsonKind::kInteger, true}};
  static constexpr JsonMessage kMessage = {kFields, true};
  return kMessage;
}

const JsonMessage& Entry() {
  static constexpr JsonField kFields[] = {{1, "key", JsonKind::kText},
                                          {2, "value", JsonKind::kMessage, false, &Inner}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& All() {
  static constexpr JsonField kFields[] = {
      {1, "integer", JsonKind::kInteger},
      {2, "unsigned", JsonKind::kUnsigned},
      {3, "bool", JsonKind::kBool},
      {4, "float", JsonKind::kFloat},
      {5, "double", JsonKind::kDouble},
      {6, "text", JsonKind::kText},
      {7, "inner", JsonKind::kMessage, false, &Inner},
      {8, "map", JsonKind::kMap, false, &Entry},
      {9, "type", JsonKind::kTensorFlowType},
      {10, "ms_type", JsonKind::kMindSporeType},
      {11, "choice", JsonKind::kMessage, false, &Choice},
      {12, "floats", JsonKind::kFloat, true},
      {13, "integers", JsonKind::kInteger, true},
      {14, "inners", JsonKind::kMessage, true, &Inner},
      {15, "value", JsonKind::kValue},
      {16, "values", JsonKind::kListValue},
      {17, "doubles", JsonKind::kDouble, true},
  };
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

struct Row {
  std::string bytes;
  const char* json;
};

TEST(ProtobufJsonTest, EveryKindOfFieldHasItsText) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Row rows[] = {
      {"", "{}"},
      {Number(1, ~std::uint64_t{0}), R"({"integer":-1})"},
      {Number(2, ~std::uint64_t{0}), R"({"unsigned":18446744073709551615})"},
      {Number(3, 1), R"({"bool":true})"},
      {Number(3, 0), R"({"bool":false})"},
      {Float(4, 0.1F), R"({"float":0.1})"},
      {Double(5, 0.1), R"({"double":0.1})"},
      {Double(5, NAN), R"({"double":"NaN"})"},
      {Double(5, infinity) + Float(4, -std::numeric_limits<float>::infinity()),
       R"({"float":"-Infinity","double":"Infinity"})"},
      {Bytes(6, "a\"\n\xff"), "{\"text\":\"a\\\"\\n\xEF\xBF\xBD\"}"},
      {Bytes(7, Number(1, 5)), R"({"inner":{"a":5}})"},
      {Bytes(7, ""), R"({"inner":{}})"},
      {Bytes(7, Number(1, 5)) + Bytes(7, Number(1, 6)), R"({"inner":{"a":6}})"},  // the last
      {Bytes(8, Bytes(1, "k") + Bytes(2, Number(1, 1))) + Bytes(8, Bytes(1, "e")),
       R"({"map":{"e":{},"k":{"a":1}}})"},
      {Bytes(8, Bytes(1, "k") + Bytes(2, Number(1, 1))) + Bytes(8, Bytes(1, "k")),
       R"({"map":{"k":{}}})"},
      {Bytes(8, Bytes(2, Number(1, 1))), R"({"map":{"":{"a":1}}})"},
      {Number(9, 1) + Number(10, 11), R"({"type":"float32","ms_type":"float32"})"},
      {Number(9, 20) + Number(10, 31), R"({"type":20,"ms_type":31})"},
      {Bytes(11, Number(1, 1) + Bytes(2, "x")), R"({"choice":"x"})"},
      {Bytes(11, Bytes(2, "x") + Number(1, 1)), R"({"choice":1})"},
      {Bytes(11, Number(3, 1) + Bytes(3, Varint(2) + Varint(3))), R"({"choice":[1,2,3]})"},
      {Bytes(11, ""), R"({"choice":null})"},
      {Float(12, 1) + Bytes(12, FloatBytes(2.5F)), R"({"floats":[1,2.5]})"},
      {Number(13, 1) + Bytes(13, Varint(2)), R"({"integers":[1,2]})"},
      {Bytes(14, Number(1, 1)) + Bytes(14, ""), R"({"inners":[{"a":1},{}]})"},
      {Bytes(17, testing::DoubleBytes(1e300)), R"({"doubles":[1e+300]})"},
      {Number(99, 1) + Number(1, 2), R"({"integer":2})"},
  };
  for (const Row& row : rows) {
    const auto json = ProtobufAsJson(All(), row.bytes);
    ASSERT_TRUE(json.ok()) << json.status() << " " << &row - rows;
    EXPECT_EQ(*json, row.json);
  }
}

TEST(ProtobufJsonTest, AValueOfProtobufIsItsJson) {
  const std::string text = Bytes(3, "x");
  const Row rows[] = {
      {"", "null"},
      {Number(1, 0), "null"},
      {Double(2, 0.1), "0.1"},
      {Double(2, 32), "32"},
      {text, "\"x\""},
      {Number(4, 1), "true"},
      {Bytes(5, Bytes(1, Bytes(1, "k") + Bytes(2, text))), R"({"k":"x"})"},
      {Bytes(5, ""), "{}"},
      {Bytes(6, Bytes(1, text) + Bytes(1, Number(4, 0))), R"(["x",false])"},
      {text + Number(4, 1), "true"},  // the last
      {Number(99, 1) + text, "\"x\""},
  };
  for (const Row& row : rows) {
    const auto json = ProtobufValueAsJson(row.bytes);
    ASSERT_TRUE(json.ok()) << json.status() << " " << &row - rows;
    EXPECT_EQ(*json, row.json);
  }
}

TEST(ProtobufJsonTest, DamageAndDepthAreRefused) {
  std::string deep = Number(4, 1);
  for (int i = 0; i < 100; ++i) deep = Bytes(6, Bytes(1, deep));
  EXPECT_EQ(ProtobufValueAsJson(deep).status().code(), absl::StatusCode::kInvalidArgument);
  for (const std::string& bytes :
       {Bytes(1, "integer"), Number(4, 1), Number(6, 1), Number(7, 1), Bytes(12, "abc"),
        Bytes(13, "\xff"), Bytes(8, Number(1, 1)), std::string(20, '\xff')}) {
    EXPECT_EQ(ProtobufAsJson(All(), bytes).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(ProtobufJsonTest, TheTextIsBounded) {
  // A zero byte becomes 6 bytes of JSON.
  const std::string zeros = Bytes(6, std::string(kMaxJsonBytes / 5, '\0'));
  EXPECT_EQ(ProtobufAsJson(All(), zeros).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace eventlog
