#include "eventlog/event.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eventlog/record.h"

namespace eventlog {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

// Encodes protobuf by hand, like other writers.
std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
std::string Bytes(int field, std::string_view content) {
  return Varint(field << 3 | 2) + Varint(content.size()) + std::string(content);
}
std::string Number(int field, std::uint64_t value) { return Varint(field << 3) + Varint(value); }
std::string EventWithValue(std::string_view value) { return Bytes(5, Bytes(1, value)); }

std::optional<double> ScalarOf(const std::string& tensor) {
  Event event;
  EXPECT_TRUE(DecodeEvent(EventWithValue(Bytes(1, "t") + Bytes(8, tensor)), &event).ok());
  EXPECT_EQ(event.values.size(), 1u);
  return event.values.empty() ? std::nullopt : event.values[0].scalar;
}

Event Decode(const std::string& record) {
  static std::string kept;
  kept = record;
  Event event;
  const ParsedRecord parsed = ParseRecord(kept);
  EXPECT_EQ(parsed.state, ParsedRecord::State::kRecord);
  EXPECT_TRUE(DecodeEvent(parsed.payload, &event).ok());
  return event;
}

TEST(EventTest, ScalarsComeBack) {
  const std::vector<Scalar> scalars = {{"loss", 0.5}, {"train/accuracy", -2}, {"", 3}};
  const Event event = Decode(RenderScalars(1234.5, 42, scalars));
  EXPECT_EQ(event.wall_time, 1234.5);
  EXPECT_EQ(event.step, 42);
  ASSERT_EQ(event.values.size(), 3u);
  EXPECT_EQ(event.values[0].tag, "loss");
  EXPECT_EQ(event.values[0].scalar, 0.5);
  EXPECT_EQ(event.values[0].kind, ValueKind::kSimpleValue);
  EXPECT_EQ(event.values[1].tag, "train/accuracy");
  EXPECT_EQ(event.values[2].tag, "");
}

TEST(EventTest, NotFiniteValuesAndNegativeStepsComeBack) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<Scalar> scalars = {{"a", NAN}, {"b", inf}, {"c", -inf}};
  const Event event = Decode(RenderScalars(1, std::numeric_limits<std::int64_t>::min(), scalars));
  EXPECT_EQ(event.step, std::numeric_limits<std::int64_t>::min());
  ASSERT_EQ(event.values.size(), 3u);
  EXPECT_TRUE(std::isnan(*event.values[0].scalar));
  EXPECT_EQ(event.values[1].scalar, inf);
  EXPECT_EQ(event.values[2].scalar, -inf);
}

TEST(EventTest, ANumberThatIsNoFloatKeepsItsBits) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double value : {0.1, -0.1, 1e308, -1e308, 5e-324, 16777217.0, 1.0 + 0x1p-52}) {
    const Scalar scalar{"loss", value};
    EXPECT_EQ(Decode(RenderScalars(1, 2, {&scalar, 1}, ScalarWidth::kDouble)).values[0].scalar,
              value);
  }
  // A double that is exactly a float needs no extra bytes.
  for (const double value : {0.5, 0.0, -2.0, inf, -inf, std::nan("")}) {
    const Scalar scalar{"loss", value};
    EXPECT_EQ(RenderScalars(1, 2, {&scalar, 1}, ScalarWidth::kDouble),
              RenderScalars(1, 2, {&scalar, 1}));
  }
}

// Another program may use our field number for its own data.
TEST(EventTest, ADoubleThatIsNotThatOfTheFloatIsIgnored) {
  const std::string simple = "\x15\0\0\x80\x3f"s;  // 1
  const auto scalar = [&](const std::string& value) {
    Event event;
    EXPECT_TRUE(DecodeEvent(Bytes(5, Bytes(1, Bytes(1, "t") + value)), &event).ok());
    return std::pair(event.values.at(0).scalar, event.unknown_fields);
  };
  const std::string key = "\xc1\x3e";
  const std::string close = key + "\x01\0\0\0\0\0\xf0\x3f"s;  // 1 + 2^-52
  EXPECT_EQ(scalar(simple + close), std::pair(std::optional(1 + 0x1p-52), 0u));
  EXPECT_EQ(scalar(close + simple), std::pair(std::optional(1 + 0x1p-52), 0u));
  EXPECT_EQ(scalar(simple + key + "\0\0\0\0\0\0\0\x40"s), std::pair(std::optional(1.0), 0u));
  EXPECT_EQ(scalar(simple + Number(1000, 7)), std::pair(std::optional(1.0), 1u));
}

TEST(EventTest, RenderingIsAPureFunction) {
  const Scalar scalar{"loss", 0.1};
  EXPECT_EQ(RenderScalars(1, 2, {&scalar, 1}), RenderScalars(1, 2, {&scalar, 1}));
}

TEST(EventTest, TheFirstRecordNamesTheVersion) {
  const Event event = Decode(RenderFileHeader(7));
  EXPECT_EQ(event.file_version, "brain.Event:2");
  EXPECT_EQ(event.wall_time, 7);
  EXPECT_TRUE(event.values.empty());
}

TEST(EventTest, TensorsOfEveryNumberTypeAreScalars) {
  EXPECT_EQ(ScalarOf(Number(1, 1) + Bytes(5, "\0\0\x80\x3f"sv)), 1.0);          // float, packed
  EXPECT_EQ(ScalarOf(Number(1, 1) + std::string("\x2d\0\0\x80\x3f"sv)), 1.0);   // float
  EXPECT_EQ(ScalarOf(Number(1, 2) + Bytes(6, "\0\0\0\0\0\0\xf0\x3f"sv)), 1.0);  // double
  EXPECT_EQ(ScalarOf(Number(1, 3) + Number(7, ~std::uint64_t{0})), -1.0);       // int32
  EXPECT_EQ(ScalarOf(Number(1, 9) + Bytes(10, "\x05"sv)), 5.0);                 // int64
  EXPECT_EQ(ScalarOf(Number(1, 10) + Number(11, 1)), 1.0);                      // bool
  EXPECT_EQ(ScalarOf(Number(1, 19) + Number(13, 0x3C00)), 1.0);                 // half
  EXPECT_EQ(ScalarOf(Number(1, 14) + Number(13, 0x3F80)), 1.0);                 // bfloat16
  EXPECT_EQ(ScalarOf(Number(1, 22) + Number(16, 7)), 7.0);                      // uint32
  EXPECT_EQ(ScalarOf(Number(1, 23) + Number(17, 7)), 7.0);                      // uint64
  EXPECT_EQ(ScalarOf(Number(1, 1) + Bytes(4, "\0\0\x80\x3f"sv)), 1.0);          // content
  EXPECT_EQ(ScalarOf(Number(1, 5) + Bytes(4, "\xfe\xff"sv)), -2.0);             // int16
  EXPECT_EQ(ScalarOf(Number(1, 19) + Bytes(4, "\x00\xc0"sv)), -2.0);            // half
  EXPECT_EQ(ScalarOf(Number(1, 24) + Bytes(18, "\x3c")), 1.0);                  // float8_e5m2
  EXPECT_EQ(ScalarOf(Number(1, 25) + Bytes(4, "\x38")), 1.0);                   // float8_e4m3fn
  EXPECT_EQ(ScalarOf(Number(1, 29) + Number(7, 15)), -1.0);                     // int4
  EXPECT_EQ(ScalarOf(Number(1, 101) + Bytes(5, "\0\0\x80\x3f"sv)), 1.0);        // reference
}

TEST(EventTest, OneElementWithAShapeIsAScalarThatSaysSo) {
  const std::string one = Number(1, 1) + Bytes(5, "\0\0\x80\x3f"sv);
  const std::string dimension = Bytes(2, Number(1, 1));
  const auto value_of = [&](const std::string& shape) {
    static std::string payload;
    payload = EventWithValue(Bytes(8, one + shape));
    Event event;
    EXPECT_TRUE(DecodeEvent(payload, &event).ok());
    return event.values.at(0);
  };
  EXPECT_EQ(value_of("").scalar, 1.0);
  EXPECT_FALSE(value_of("").shaped);
  EXPECT_FALSE(value_of(Bytes(2, "")).shaped);
  for (const std::string& shape : {Bytes(2, dimension), Bytes(2, dimension + dimension)}) {
    EXPECT_EQ(value_of(shape).scalar, 1.0);
    EXPECT_TRUE(value_of(shape).shaped);
  }
  for (const std::string& shape :
       {Bytes(2, dimension + Bytes(2, Number(1, 0))), Bytes(2, Bytes(2, Number(1, 2)) + dimension),
        Bytes(2, Number(3, 1)), Bytes(2, Bytes(2, Number(1, ~std::uint64_t{0})))}) {
    EXPECT_EQ(value_of(shape).scalar, std::nullopt);
    EXPECT_FALSE(value_of(shape).shaped);
  }
}

TEST(EventTest, AnOldTensorIsCalledAsItsNode) {
  const auto tag_of = [](const std::string& value) {
    static std::string payload;
    payload = EventWithValue(value);
    Event event;
    EXPECT_TRUE(DecodeEvent(payload, &event).ok());
    return std::string(event.values.at(0).tag);
  };
  EXPECT_EQ(tag_of(Bytes(7, "node") + Bytes(8, "")), "node");
  EXPECT_EQ(tag_of(Bytes(8, "") + Bytes(7, "node")), "node");
  EXPECT_EQ(tag_of(Bytes(7, "node") + Bytes(1, "tag") + Bytes(8, "")), "tag");
  EXPECT_EQ(tag_of(Bytes(7, "node") + Bytes(4, "")), "");  // Images always had tags.
}

TEST(EventTest, WhatIsNoScalarHasNoValue) {
  EXPECT_EQ(ScalarOf(Number(1, 7) + Bytes(8, "text")), std::nullopt);  // string
  const std::string shape = Bytes(2, Bytes(2, Number(1, 2)));          // two elements
  EXPECT_EQ(ScalarOf(Number(1, 1) + shape + Bytes(5, "\0\0\x80\x3f"sv)), std::nullopt);
  EXPECT_EQ(ScalarOf(Number(1, 1) + Bytes(4, "\0\0"sv)), std::nullopt);  // wrong size
  EXPECT_EQ(ScalarOf(Number(1, 1)), std::nullopt);
  Event event;
  ASSERT_TRUE(DecodeEvent(EventWithValue(Bytes(1, "only a tag")), &event).ok());
  EXPECT_EQ(event.values[0].scalar, std::nullopt);
}

TEST(EventTest, ThePluginComesFromTheMetadata) {
  Event event;
  const std::string metadata = Bytes(1, Bytes(1, "scalars") + Bytes(2, "x"));
  const std::string payload = EventWithValue(Bytes(1, "t") + Bytes(9, metadata));
  ASSERT_TRUE(DecodeEvent(payload, &event).ok());
  EXPECT_EQ(event.values[0].plugin, "scalars");
}

TEST(EventTest, TheMetadataIsKeptWhole) {
  Event event;
  const std::string metadata =
      Bytes(1, Bytes(1, "images") + Bytes(2, "x")) + Bytes(2, "display name") + Number(4, 3);
  const std::string payload =
      EventWithValue(Bytes(1, "t") + Bytes(9, metadata)) + EventWithValue(Bytes(1, "bare"));
  ASSERT_TRUE(DecodeEvent(payload, &event).ok());
  ASSERT_EQ(event.values.size(), 2u);
  EXPECT_EQ(event.values[0].kind, ValueKind::kNone);
  EXPECT_EQ(event.values[0].plugin, "images");
  EXPECT_EQ(event.values[0].data_class, DataClass::kBlobSequence);
  EXPECT_EQ(event.values[0].metadata, metadata);
  EXPECT_EQ(event.values[1].data_class, DataClass::kUnknown);
  EXPECT_EQ(event.values[1].metadata.data(), nullptr);
}

TEST(EventTest, WhatIsNoScalarIsAKindAndItsBytes) {
  const std::pair<int, ValueKind> kinds[] = {{4, ValueKind::kImage},
                                             {5, ValueKind::kHistogram},
                                             {6, ValueKind::kAudio},
                                             {8, ValueKind::kTensor}};
  for (const auto& [field, kind] : kinds) {
    Event event;
    const std::string message = Bytes(99, "whatever is in it");
    const std::string payload = EventWithValue(Bytes(1, "t") + Bytes(field, message));
    ASSERT_TRUE(DecodeEvent(payload, &event).ok());
    EXPECT_EQ(event.kind, EventKind::kSummary);
    EXPECT_EQ(event.values.at(0).kind, kind);
    EXPECT_EQ(event.values.at(0).scalar, std::nullopt);
    EXPECT_EQ(event.values.at(0).bytes, message);
    // The bytes were not copied.
    EXPECT_EQ(event.values.at(0).bytes.data(), payload.data() + payload.size() - message.size());
  }
}

TEST(EventTest, GraphsAndRunMetadataAreKindsAndBytes) {
  const std::pair<int, EventKind> kinds[] = {{4, EventKind::kGraph},
                                             {6, EventKind::kLogMessage},
                                             {8, EventKind::kRunMetadata},
                                             {9, EventKind::kMetaGraph}};
  for (const auto& [field, kind] : kinds) {
    Event event;
    const std::string payload = Bytes(field, "serialized");
    ASSERT_TRUE(DecodeEvent(payload, &event).ok());
    EXPECT_EQ(event.kind, kind);
    EXPECT_EQ(event.bytes, "serialized");
  }
}

TEST(EventTest, ASessionLogTellsItsStatus) {
  const std::pair<int, SessionStatus> statuses[] = {
      {1, SessionStatus::kStart}, {2, SessionStatus::kStop}, {3, SessionStatus::kCheckpoint}};
  for (const auto& [number, status] : statuses) {
    Event event;
    const std::string log = Number(1, number) + Bytes(2, "a/checkpoint");
    ASSERT_TRUE(DecodeEvent(Number(2, 10) + Bytes(7, log), &event).ok());
    EXPECT_EQ(event.kind, EventKind::kSessionLog);
    EXPECT_EQ(event.session_status, status);
    EXPECT_EQ(event.step, 10);
  }
}

TEST(EventTest, TheWriterIsNamedBesideTheVersion) {
  Event event;
  const std::string source = Bytes(10, Bytes(1, "tensorboard.summary.writer"));
  const std::string payload = Bytes(3, "brain.Event:2") + source;
  ASSERT_TRUE(DecodeEvent(payload, &event).ok());
  EXPECT_EQ(event.kind, EventKind::kFileVersion);
  EXPECT_EQ(event.file_version, "brain.Event:2");
  EXPECT_EQ(event.writer, "tensorboard.summary.writer");
}

TEST(EventTest, OfWhatMayBeThereOnceTheLastCounts) {
  Event event;
  const std::string simple = "\x15" + std::string("\0\0\x80\x3f", 4);
  const std::string image = Bytes(4, "an image");
  ASSERT_TRUE(DecodeEvent(EventWithValue(simple + image), &event).ok());
  EXPECT_EQ(event.values.at(0).kind, ValueKind::kImage);
  EXPECT_EQ(event.values.at(0).scalar, std::nullopt);
  ASSERT_TRUE(DecodeEvent(EventWithValue(image + simple), &event).ok());
  EXPECT_EQ(event.values.at(0).kind, ValueKind::kSimpleValue);
  EXPECT_EQ(event.values.at(0).scalar, 1.0);
  EXPECT_EQ(event.values.at(0).bytes, "");
  ASSERT_TRUE(DecodeEvent(EventWithValue(simple) + Bytes(3, "brain.Event:2"), &event).ok());
  EXPECT_TRUE(event.values.empty());
}

TEST(EventTest, NothingIsLeftOfTheEventBefore) {
  Event event;
  const std::string full = Number(2, 5) + Bytes(10, Bytes(1, "writer")) + Bytes(7, Number(1, 1));
  ASSERT_TRUE(DecodeEvent(full, &event).ok());
  ASSERT_TRUE(DecodeEvent(EventWithValue(Bytes(9, Bytes(1, Bytes(1, "p")))), &event).ok());
  ASSERT_TRUE(DecodeEvent(EventWithValue(Bytes(1, "t")), &event).ok());
  EXPECT_EQ(event.values.at(0).plugin, "");
  ASSERT_TRUE(DecodeEvent("", &event).ok());
  EXPECT_EQ(event.step, 0);
  EXPECT_EQ(event.kind, EventKind::kNone);
  EXPECT_EQ(event.writer, "");
  EXPECT_EQ(event.session_status, SessionStatus::kUnspecified);
  EXPECT_TRUE(event.values.empty());
}

TEST(EventTest, ATensorsTypeSaysWhichOfItsFieldsCounts) {
  const std::string one = Bytes(5, "\0\0\x80\x3f"sv);
  EXPECT_EQ(ScalarOf(Number(1, 3) + one + Number(7, 4)), 4.0);  // int32 beside a float
  EXPECT_EQ(ScalarOf(Number(1, 3) + one), std::nullopt);
  EXPECT_EQ(ScalarOf(Number(1, 7) + one), std::nullopt);  // string
  EXPECT_EQ(ScalarOf(one + Number(1, 1)), 1.0);           // the type after the value
  EXPECT_EQ(ScalarOf(one), std::nullopt);                 // no type
}

TEST(EventTest, IntegersKeepTheirSign) {
  const std::uint64_t minus_two = ~std::uint64_t{1};
  for (const int dtype : {3, 5, 6}) {  // int32, int16, int8
    EXPECT_EQ(ScalarOf(Number(1, dtype) + Number(7, minus_two)), -2.0) << dtype;
  }
  EXPECT_EQ(ScalarOf(Number(1, 4) + Number(7, 200)), 200.0);                   // uint8
  EXPECT_EQ(ScalarOf(Number(1, 17) + Bytes(4, "\xff\xff"sv)), 65535.0);        // uint16
  EXPECT_EQ(ScalarOf(Number(1, 9) + Bytes(10, Varint(minus_two))), -2.0);      // int64
  EXPECT_EQ(ScalarOf(Number(1, 23) + Number(17, ~std::uint64_t{0})), 0x1p64);  // uint64
}

TEST(EventTest, HalfFloatsOfAnyBitsAreRead) {
  const auto half = [](std::uint64_t bits) { return ScalarOf(Number(1, 19) + Number(13, bits)); };
  EXPECT_EQ(half(0x0001), 0x1p-24);
  EXPECT_EQ(half(0x7BFF), 65504.0);
  EXPECT_EQ(half(0xFC00), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(*half(0x7E00)));
  // A faulty writer may set bits beyond the 16 of a half.
  EXPECT_EQ(half(0xFFFF'FFFF'FFFF'3C00), 1.0);
}

TEST(EventTest, AnEmptySummaryAndAHugeTagAreFine) {
  Event event = Decode(RenderScalars(1, 2, {}));
  EXPECT_TRUE(event.values.empty());
  EXPECT_EQ(event.step, 2);
  const std::string tag(1 << 20, 't');
  const Scalar scalar{tag, 1};
  event = Decode(RenderScalars(1, 2, {&scalar, 1}));
  EXPECT_EQ(event.values.at(0).tag, tag);
  ASSERT_TRUE(DecodeEvent(EventWithValue(""), &event).ok());
  EXPECT_EQ(event.values.at(0).tag, "");
}

TEST(EventTest, WallTimesComeBackAsTheyAre) {
  EXPECT_TRUE(std::isnan(Decode(RenderScalars(NAN, 1, {})).wall_time));
  EXPECT_EQ(Decode(RenderScalars(-1.5, 1, {})).wall_time, -1.5);
}

TEST(EventTest, UnknownFieldsAreSkippedAndCounted) {
  Event event;
  const std::string payload = Number(2, 9) + Bytes(99, "new") + Number(100, 1);
  ASSERT_TRUE(DecodeEvent(payload, &event).ok());
  EXPECT_EQ(event.step, 9);
  EXPECT_EQ(event.unknown_fields, 2u);
  // Fields of old versions count as known, although they are not used.
  const std::string old =
      EventWithValue(Bytes(3, "a histogram") + Bytes(7, "node") + Number(42, 1));
  ASSERT_TRUE(DecodeEvent(old, &event).ok());
  EXPECT_EQ(event.unknown_fields, 1u);
}

TEST(EventTest, WrongWireTypesAndShortBytesAreErrors) {
  Event event;
  for (const std::string& payload :
       {Number(1, 5), Bytes(2, "step"), Number(5, 1), std::string("\x2a\x7f", 2),
        std::string("\x09\x01", 2), EventWithValue(Number(1, 1)),
        EventWithValue(Bytes(8, Bytes(1, "dtype"))), std::string(20, '\xff'),
        EventWithValue(Number(9, 1)), EventWithValue(Bytes(9, Bytes(4, "class"))),
        Bytes(7, Bytes(1, "status")), Number(10, 1), Bytes(10, Number(1, 1)),
        EventWithValue(Bytes(8, Number(1, 1) + Bytes(5, "odd"))),
        EventWithValue(Bytes(8, Number(1, 1) + Number(5, 1))),
        EventWithValue(Bytes(8, Number(1, 3) + Bytes(7, std::string(11, '\xff'))))}) {
    EXPECT_EQ(DecodeEvent(payload, &event).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(EventTest, AnEventOfAMillionEmptyValuesIsRefused) {
  std::string values;
  for (int i = 0; i < 1'000'001; ++i) values += Bytes(1, "");
  Event event;
  EXPECT_EQ(DecodeEvent(Bytes(5, values), &event).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(event.values.capacity(), 0u);
}

TEST(EventTest, AnyDamagedEventIsAnErrorOrAnEvent) {
  std::mt19937 random(7);
  const std::vector<Scalar> scalars = {{"loss", 0.5}, {"accuracy", 1}};
  const std::string record = RenderScalars(1, 2, scalars);
  const std::string payload = record.substr(12, record.size() - 16);
  Event event;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = payload;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    damaged.resize(damaged.size() - random() % 4);
    (void)DecodeEvent(damaged, &event);
  }
}

TEST(EventTest, FileNamesAreTensorBoards) {
  EXPECT_EQ(EventFileName(1700000000, "box", 12, 0), "events.out.tfevents.1700000000.box.12.0");
  EXPECT_EQ(EventFileName(7, "box", 1, 2), "events.out.tfevents.0000000007.box.1.2");
}

}  // namespace
}  // namespace eventlog
