#include "eventlog/mindspore_event.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "eventlog/event.h"
#include "eventlog/tag_metadata.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace eventlog {
namespace {

using nlohmann::json;
using testing::Bytes;
using testing::Double;
using testing::Float;
using testing::FloatBytes;
using testing::Number;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::string Value(std::string_view tag, const std::string& value) {
  return Bytes(1, Bytes(1, tag) + value);
}

TEST(MindSporeEventTest, OneEventHasTheValuesOfAllTags) {
  const std::string payload =
      Double(1, 1234.5) + Number(2, 7) +
      Bytes(5, Value("loss", Float(3, 0.5F)) + Value("weights", Bytes(8, "tensor")) +
                   Value("input", Bytes(4, "image")) + Value("weights", Bytes(9, "histogram")) +
                   Value("landscape", Bytes(10, "points")) + Value("nothing", ""));
  Event event;
  ASSERT_TRUE(DecodeMindSporeEvent(payload, &event).ok());
  EXPECT_EQ(event.wall_time, 1234.5);
  EXPECT_EQ(event.step, 7);
  EXPECT_EQ(event.kind, EventKind::kSummary);
  struct Row {
    ValueKind kind;
    const char* served;
    DataClass data_class;
    const char* bytes;
  };
  const Row rows[] = {
      {ValueKind::kSimpleValue, "loss/scalar", DataClass::kScalar, ""},
      {ValueKind::kMindSporeTensor, "weights/tensor", DataClass::kTensor, "tensor"},
      {ValueKind::kMindSporeImage, "input/image", DataClass::kBlobSequence, "image"},
      {ValueKind::kMindSporeHistogram, "weights/histogram", DataClass::kTensor, "histogram"},
      {ValueKind::kLandscape, "landscape/loss_landscape", DataClass::kTensor, "points"},
  };
  ASSERT_EQ(event.values.size(), 6u);
  for (std::size_t i = 0; i < 5; ++i) {
    const SummaryValue& value = event.values[i];
    EXPECT_EQ(value.kind, rows[i].kind) << i;
    EXPECT_EQ(MindSporeTag(value), rows[i].served);
    EXPECT_EQ(value.data_class, rows[i].data_class) << i;
    EXPECT_EQ(value.data_class, DataClassOf(value.plugin)) << i;
    EXPECT_EQ(value.bytes, rows[i].bytes);
    EXPECT_EQ(value.metadata.data(), nullptr);
  }
  EXPECT_EQ(event.values[0].scalar, 0.5);
  EXPECT_EQ(event.values[1].scalar, std::nullopt);
  EXPECT_EQ(event.values[5].kind, ValueKind::kNone);
}

TEST(MindSporeEventTest, TheFirstRecordNamesTheVersion) {
  Event event;
  const std::string payload = Double(1, 1) + Bytes(3, "MindSpore.Event:1");
  ASSERT_TRUE(DecodeMindSporeEvent(payload, &event).ok());
  EXPECT_EQ(event.kind, EventKind::kFileVersion);
  EXPECT_TRUE(IsMindSporeVersion(event.file_version));
  EXPECT_TRUE(IsMindSporeVersion("Mindspore.Event:1"));
  EXPECT_FALSE(IsMindSporeVersion("brain.Event:2"));
  EXPECT_FALSE(IsMindSporeVersion(""));
}

TEST(MindSporeEventTest, GraphsAndExplanationsAreKindsAndBytes) {
  Event event;
  const std::string graph = Double(1, 1) + Bytes(4, "graph");
  ASSERT_TRUE(DecodeMindSporeEvent(graph, &event).ok());
  EXPECT_EQ(event.kind, EventKind::kMindSporeGraph);
  EXPECT_EQ(event.bytes, "graph");
  const std::string explain = Double(1, 1) + Bytes(6, "explain");
  ASSERT_TRUE(DecodeMindSporeEvent(explain, &event).ok());
  EXPECT_EQ(event.kind, EventKind::kExplain);
}

TEST(MindSporeEventTest, UnknownFieldsAreSkippedAndCounted) {
  Event event;
  const std::string payload =
      Double(1, 1) + Number(99, 1) + Bytes(5, Value("a", Float(3, 1) + Bytes(98, "new")));
  ASSERT_TRUE(DecodeMindSporeEvent(payload, &event).ok());
  EXPECT_EQ(event.unknown_fields, 2u);
  EXPECT_EQ(event.values.at(0).scalar, 1.0);
  const std::string known = Double(1, 1);
  ASSERT_TRUE(DecodeMindSporeEvent(known, &event).ok());
  EXPECT_EQ(event.unknown_fields, 0u);
}

TEST(MindSporeEventTest, NothingIsLeftOfTheEventBefore) {
  Event event;
  const std::string full = Double(1, 5) + Number(2, 9) + Bytes(5, Value("a", Float(3, 1)));
  ASSERT_TRUE(DecodeMindSporeEvent(full, &event).ok());
  const std::string empty = Double(1, 0);
  ASSERT_TRUE(DecodeMindSporeEvent(empty, &event).ok());
  EXPECT_EQ(event.step, 0);
  EXPECT_EQ(event.kind, EventKind::kNone);
  EXPECT_TRUE(event.values.empty());
  const std::string changed = full + Bytes(3, "MindSpore.Event:1");
  ASSERT_TRUE(DecodeMindSporeEvent(changed, &event).ok());
  EXPECT_TRUE(event.values.empty());
}

TEST(MindSporeEventTest, OfWhatMayBeThereOnceTheLastCounts) {
  Event event;
  const std::string first = Double(1, 1) + Bytes(5, Value("a", Float(3, 1) + Bytes(8, "t")));
  ASSERT_TRUE(DecodeMindSporeEvent(first, &event).ok());
  EXPECT_EQ(event.values.at(0).kind, ValueKind::kMindSporeTensor);
  EXPECT_EQ(event.values.at(0).scalar, std::nullopt);
  const std::string second = Double(1, 1) + Bytes(5, Value("a", Bytes(8, "t") + Float(3, NAN)));
  ASSERT_TRUE(DecodeMindSporeEvent(second, &event).ok());
  EXPECT_EQ(event.values.at(0).kind, ValueKind::kSimpleValue);
  EXPECT_TRUE(std::isnan(*event.values.at(0).scalar));
  EXPECT_EQ(event.values.at(0).bytes, "");
}

TEST(MindSporeEventTest, WhatTheFormatRequiresMustBeThere) {
  const std::string rows[] = {
      "",                                              // no wall time
      Number(2, 7),                                    //
      Double(1, 1) + Bytes(5, Bytes(1, Float(3, 1))),  // no tag
      Number(1, 1),                                    // wrong wire types
      Double(1, 1) + Bytes(2, "step"),                 //
      Double(1, 1) + Number(5, 1),                     //
      Double(1, 1) + Bytes(5, Value("a", Double(3, 1))),
      Double(1, 1) + Bytes(5, Value("a", Number(8, 1))),
      Double(1, 1) + Bytes(5, Number(1, 1)),
      std::string(20, '\xff'),
  };
  Event event;
  for (const std::string& payload : rows) {
    EXPECT_EQ(DecodeMindSporeEvent(payload, &event).code(), kInvalid) << &payload - rows;
  }
  std::string values;
  for (int i = 0; i < 1'000'001; ++i) values += Value("", "");
  EXPECT_EQ(DecodeMindSporeEvent(Double(1, 1) + Bytes(5, values), &event).code(), kInvalid);
  EXPECT_EQ(event.values.capacity(), 0u);
}

json Lineage(int field, const std::string& message, LineageKind kind) {
  static std::string payload;
  payload = Double(1, 12.5) + Number(2, 3) + Bytes(field, message);
  const auto event = DecodeLineageEvent(payload);
  EXPECT_TRUE(event.ok()) << event.status();
  if (!event.ok()) return {};
  EXPECT_EQ(event->kind, kind);
  EXPECT_EQ(event->wall_time, 12.5);
  EXPECT_EQ(event->step, 3);
  const auto text = LineageJson(event->kind, event->bytes);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? json::parse(*text) : json();
}

TEST(MindSporeEventTest, TrainLineageIsJson) {
  const std::string message =
      Bytes(1, Bytes(1, "Momentum") + Float(2, 0.01F) + Number(4, 10) + Number(8, 32)) +
      Bytes(2, Bytes(1, "/data/train") + Number(2, 60000)) +
      Bytes(3, Bytes(1, "LeNet") + Float(2, 0.25F)) +
      Bytes(4, Bytes(3, "/model.ckpt") + Number(4, std::uint64_t{1} << 40));
  const json lineage = Lineage(6, message, LineageKind::kTrain);
  EXPECT_EQ(lineage["hyper_parameters"],
            json::parse(R"({"optimizer":"Momentum","learning_rate":0.01,"epoch":10,)"
                        R"("batch_size":32})"));
  EXPECT_EQ(lineage["train_dataset"]["train_dataset_size"], 60000);
  EXPECT_EQ(lineage["algorithm"]["loss"], 0.25);
  EXPECT_EQ(lineage["model"]["size"], std::int64_t{1} << 40);
}

TEST(MindSporeEventTest, EvaluationLineageIsJson) {
  const std::string message = Bytes(2, "{\"Accuracy\": 0.9}") + Bytes(3, Number(2, 10000));
  const json lineage = Lineage(7, message, LineageKind::kEvaluation);
  EXPECT_EQ(lineage["metric"], "{\"Accuracy\": 0.9}");
  EXPECT_EQ(lineage["valid_dataset"], json::parse(R"({"valid_dataset_size":10000})"));
}

TEST(MindSporeEventTest, ADatasetGraphIsATree) {
  const auto entry = [](std::string_view key, const std::string& value) {
    return Bytes(1, key) + value;
  };
  const std::string parameter =
      Bytes(1, entry("op_type", Bytes(2, "MnistDataset"))) +
      Bytes(2, entry("columns", Bytes(2, Bytes(1, "image") + Bytes(1, "label")))) +
      Bytes(3, entry("shuffle", Number(2, 1))) + Bytes(4, entry("workers", Number(2, 4))) +
      Bytes(5, entry("ratio", Double(2, 0.5)));
  const std::string operation =
      Bytes(1, parameter) + Number(2, 28) + Number(2, 28) + Bytes(3, FloatBytes(0.5F));
  const std::string message =
      Bytes(1, Bytes(2, parameter)) + Bytes(3, operation) + Bytes(4, operation);
  const json lineage = Lineage(9, message, LineageKind::kDataset);
  const json expected = json::parse(
      R"({"mapStr":{"op_type":"MnistDataset"},"mapStrList":{"columns":{"strValue":["image",)"
      R"("label"]}},"mapBool":{"shuffle":true},"mapInt":{"workers":4},"mapDouble":{"ratio":0.5}})");
  EXPECT_EQ(lineage["children"][0]["parameter"], expected);
  EXPECT_EQ(lineage["operations"][0]["operationParam"], expected);
  EXPECT_EQ(lineage["operations"][0]["size"], json::parse("[28,28]"));
  EXPECT_EQ(lineage["sampler"]["weights"], json::parse("[0.5]"));
}

TEST(MindSporeEventTest, UserDefinedInfoIsJson) {
  const std::string inner = Bytes(4, Bytes(1, "version") + Bytes(2, "v1")) +
                            Bytes(3, Bytes(1, "negative") + Number(2, ~std::uint64_t{0})) +
                            Bytes(5, Bytes(1, "absent"));
  const std::string message = Bytes(1, inner) + Bytes(2, Bytes(1, "more") + Bytes(2, inner));
  const json lineage = Lineage(10, message, LineageKind::kUserDefined);
  const json expected = json::parse(
      R"({"map_int32":{"negative":-1},"map_str":{"version":"v1"},"map_double":{"absent":0}})");
  EXPECT_EQ(lineage["user_info"], json::array({expected}));
  EXPECT_EQ(lineage["map_dict"]["more"], expected);
}

TEST(MindSporeEventTest, WhatIsNoLineageIsRefused) {
  EXPECT_EQ(DecodeLineageEvent("").status().code(), kInvalid);
  EXPECT_EQ(DecodeLineageEvent(Double(1, 1) + Number(6, 1)).status().code(), kInvalid);
  EXPECT_EQ(LineageJson(LineageKind::kNone, "").status().code(), kInvalid);
  EXPECT_EQ(LineageJson(LineageKind::kTrain, Number(1, 1)).status().code(), kInvalid);
  std::string deep;
  for (int i = 0; i < 100; ++i) deep = Bytes(1, deep);
  EXPECT_EQ(LineageJson(LineageKind::kDataset, deep).status().code(), kInvalid);
  const std::string version = Double(1, 1) + Bytes(3, "MindSpore.Event:1");
  const auto event = DecodeLineageEvent(version);
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->kind, LineageKind::kFileVersion);
  EXPECT_EQ(event->file_version, "MindSpore.Event:1");
}

}  // namespace
}  // namespace eventlog
