#include "datamanager/answer/value_messages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "eventlog/crc32c.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace datamanager {
namespace {

using namespace std::string_view_literals;
using eventlog::DataClass;
using eventlog::ValueKind;
using eventlog::testing::Bytes;
using eventlog::testing::Double;
using eventlog::testing::DoubleBytes;
using eventlog::testing::Float;
using eventlog::testing::FloatBytes;
using eventlog::testing::LittleEndianBytes;
using eventlog::testing::Number;
using Numbers = std::vector<double>;
using Shape = std::vector<std::int64_t>;

std::string ShapeBytes(const Shape& shape) {
  std::string dims;
  for (const std::int64_t size : shape) {
    dims += Bytes(2, Number(1, static_cast<std::uint64_t>(size)));
  }
  return Bytes(2, dims);
}
std::string Doubles(const Shape& shape, const Numbers& numbers) {
  std::string content;
  for (const double number : numbers) content += DoubleBytes(number);
  return Number(1, 2) + ShapeBytes(shape) + Bytes(4, content);
}
std::string Texts(const Shape& shape, const std::vector<std::string>& texts) {
  std::string tensor = Number(1, 7) + ShapeBytes(shape);
  for (const std::string& text : texts) tensor += Bytes(8, text);
  return tensor;
}

StoredValue Value(std::string_view plugin, DataClass data_class, ValueKind kind,
                  std::string_view bytes) {
  return {.plugin = plugin,
          .data_class = data_class,
          .kind = kind,
          .step = 7,
          .wall_time = 1.5,
          .file = "events.1",
          .offset = 1000,
          .length = bytes.size(),
          .crc = eventlog::Crc32c(bytes),
          .bytes = bytes};
}
StoredValue Tensor(std::string_view bytes) {
  return Value("third", DataClass::kTensor, ValueKind::kTensor, bytes);
}

msg::ReadValuesReplyT Answer(const StoredValue& value, const ValueOptions& options = {}) {
  msg::ReadValuesReplyT reply;
  const auto size = AppendValue(value, options, &reply);
  EXPECT_TRUE(size.ok()) << size.status();
  return reply;
}

TEST(ValueMessagesTest, ATensorComesWithItsShapeItsNumbersAndTheirStatistics) {
  const std::string bytes = Doubles({2, 3}, {0, 1, 2, 3, 4, INFINITY});
  const auto reply = Answer(Tensor(bytes));
  ASSERT_EQ(reply.tensors.size(), 1u);
  const msg::TensorT& tensor = *reply.tensors[0];
  EXPECT_EQ(tensor.step, 7);
  EXPECT_EQ(tensor.wall_time, 1.5);
  EXPECT_EQ(tensor.dtype, 2);
  EXPECT_EQ(tensor.shape, (Shape{2, 3}));
  EXPECT_EQ(tensor.total, 6u);
  EXPECT_EQ(tensor.numbers, (Numbers{0, 1, 2, 3, 4, INFINITY}));
  EXPECT_FALSE(tensor.cut);
  EXPECT_EQ(tensor.min, 0);
  EXPECT_EQ(tensor.max, 4);
  EXPECT_EQ(tensor.mean, 2);
  EXPECT_EQ(tensor.not_finite, 1u);
}

TEST(ValueMessagesTest, ASliceAndALimitCutItButNotItsStatistics) {
  const std::string bytes = Doubles({2, 3}, {0, 1, 2, 3, 4, 5});
  struct Row {
    ValueOptions options;
    Shape shape;
    Numbers numbers;
    bool cut;
  };
  const Row rows[] = {
      {{.slice = "[:, 1]"}, {2}, {1, 4}, false},
      {{.slice = "[1, 0:2]"}, {2}, {3, 4}, false},
      {{.slice = "[:, ::2]", .max_values = 3}, {2, 2}, {0, 2, 3}, true},
      {{.max_values = 4}, {2, 3}, {0, 1, 2, 3}, true},
      {{.statistics_only = true}, {2, 3}, {}, false},
  };
  for (const Row& row : rows) {
    const auto reply = Answer(Tensor(bytes), row.options);
    ASSERT_EQ(reply.tensors.size(), 1u);
    const msg::TensorT& tensor = *reply.tensors[0];
    EXPECT_EQ(tensor.shape, row.shape) << row.options.slice;
    EXPECT_EQ(tensor.total, 6u) << row.options.slice;
    EXPECT_EQ(tensor.numbers, row.numbers) << row.options.slice;
    EXPECT_EQ(tensor.cut, row.cut) << row.options.slice;
    EXPECT_EQ(tensor.max, 5) << row.options.slice;
  }
}

TEST(ValueMessagesTest, A64BitIntegerAndAComplexNumberAreExact) {
  const std::uint64_t large = (std::uint64_t{1} << 53) + 1;
  const std::string integers = Number(1, 9) + ShapeBytes({2}) + Number(10, 5) + Number(10, large);
  for (const std::string& slice : {std::string("[:]"), std::string("[1:]")}) {
    const auto reply = Answer(Tensor(integers), {.slice = slice});
    const auto& data = reply.tensors[0]->data;
    const std::string last(data.end() - 8, data.end());
    EXPECT_EQ(last, LittleEndianBytes(large)) << slice;
    EXPECT_EQ(data.size(), slice == "[:]" ? 16u : 8u);
    EXPECT_TRUE(reply.tensors[0]->numbers.empty());
  }
  const std::string content = FloatBytes(1.5) + FloatBytes(-2);
  const std::string complex = Number(1, 8) + Bytes(4, content);
  const auto reply = Answer(Tensor(complex));
  const auto& data = reply.tensors[0]->data;
  EXPECT_EQ(std::string(data.begin(), data.end()), content);
}

TEST(ValueMessagesTest, TextsAreStringsOfATensor) {
  const std::string bytes = Texts({2, 2}, {"a", "b\xff", "c", "d"});
  const StoredValue text = Value("text", DataClass::kTensor, ValueKind::kTensor, bytes);
  const auto whole = Answer(text);
  EXPECT_EQ(whole.tensors[0]->dtype, 7);
  EXPECT_EQ(whole.tensors[0]->strings, (std::vector<std::string>{"a", "b\xef\xbf\xbd", "c", "d"}));
  const auto column = Answer(text, {.slice = "[:, 1]"});
  EXPECT_EQ(column.tensors[0]->strings, (std::vector<std::string>{"b\xef\xbf\xbd", "d"}));
  EXPECT_FALSE(column.tensors[0]->cut);
  // A tensor that is too large for one message is truncated.
  const std::string half(kMaxTextBytes / 2, 'x');
  const auto cut = Answer(Tensor(Texts({3}, {half, half, half})));
  EXPECT_EQ(cut.tensors[0]->strings.size(), 1u);
  EXPECT_TRUE(cut.tensors[0]->cut);
}

TEST(ValueMessagesTest, MetadataAloneIsAnEmptyTensor) {
  const auto reply = Answer(Value("hparams", DataClass::kTensor, ValueKind::kNone, {}));
  EXPECT_EQ(reply.tensors[0]->shape, (Shape{0}));
  EXPECT_FALSE(reply.tensors[0]->cut);
}

TEST(ValueMessagesTest, HistogramsOfBothStyles) {
  const std::string edges = DoubleBytes(1) + DoubleBytes(2) + DoubleBytes(3);
  const std::string counts = DoubleBytes(0) + DoubleBytes(4) + DoubleBytes(0);
  const std::string old = Double(1, 1.5) + Double(2, 2) + Double(3, 4) + Double(4, 9) +
                          Bytes(6, edges) + Bytes(7, counts);
  const StoredValue value = Value("histograms", DataClass::kTensor, ValueKind::kHistogram, old);
  const auto all = Answer(value);
  ASSERT_EQ(all.histograms.size(), 1u);
  EXPECT_EQ(all.histograms[0]->counts, (Numbers{0, 4, 0}));
  EXPECT_EQ(all.histograms[0]->rights.size(), 3u);
  EXPECT_EQ(all.histograms[0]->min, 1.5);
  EXPECT_EQ(all.histograms[0]->sum, 9);
  EXPECT_EQ(all.histograms[0]->count, 4);
  EXPECT_EQ(all.histograms[0]->step, 7);
  EXPECT_EQ(Answer(value, {.python_histograms = true}).histograms[0]->counts, (Numbers{4}));

  const std::string tensor = Doubles({2, 3}, {0, 1, 5, 1, 2, 6});
  const auto modern = Answer(Value("histograms", DataClass::kTensor, ValueKind::kTensor, tensor));
  ASSERT_EQ(modern.histograms.size(), 1u);
  EXPECT_EQ(modern.histograms[0]->lefts, (Numbers{0, 1}));
  EXPECT_EQ(modern.histograms[0]->counts, (Numbers{5, 6}));
  EXPECT_TRUE(modern.tensors.empty());
}

TEST(ValueMessagesTest, AnImageIsThePlaceOfItsBytesInTheFile) {
  const std::string png = "\x89PNG\r\n\x1a\nrest";
  const std::string bytes = Number(1, 20) + Number(2, 10) + Number(3, 3) + Bytes(4, png);
  const auto reply = Answer(Value("images", DataClass::kBlobSequence, ValueKind::kImage, bytes));
  ASSERT_EQ(reply.blobs.size(), 1u);
  const msg::BlobT& blob = *reply.blobs[0];
  EXPECT_EQ(blob.file, "events.1");
  EXPECT_EQ(blob.offset, 1000 + bytes.size() - png.size());
  EXPECT_EQ(blob.length, png.size());
  EXPECT_EQ(blob.crc, eventlog::Crc32c(png));
  EXPECT_EQ(blob.content_type, "image/png");
  EXPECT_EQ(blob.width, 10u);
  EXPECT_EQ(blob.height, 20u);
  EXPECT_EQ(blob.channels, 3u);
}

TEST(ValueMessagesTest, ASoundOfTheOldStyleIsAPlaceAndHowItIsPlayed) {
  const std::string sound = "RIFF....WAVE";
  const std::string bytes = Float(1, 44'100) + Number(2, 2) + Number(3, 22'050) + Bytes(4, sound) +
                            Bytes(5, "audio/flac");
  const StoredValue value = Value("audio", DataClass::kBlobSequence, ValueKind::kAudio, bytes);
  for (const bool references : {false, true}) {
    const auto reply = Answer(value, {.references = references});
    ASSERT_EQ(reply.blobs.size(), 1u);
    const msg::BlobT& blob = *reply.blobs[0];
    EXPECT_EQ(bytes.substr(blob.offset - 1000, blob.length), sound);
    EXPECT_EQ(blob.crc, eventlog::Crc32c(sound));
    EXPECT_EQ(blob.sample_rate, 44'100);
    EXPECT_EQ(blob.frames, 22'050u);
    EXPECT_EQ(blob.channels, 2u);
    EXPECT_EQ(blob.content_type, "audio/flac");
    EXPECT_EQ(blob.step, 7);
  }
}

TEST(ValueMessagesTest, TensorsOfStringsAreBlobsIfTheirTagIsASequenceOfThem) {
  const std::string images = Texts({4}, {"5", "6", "first", "second"});
  const auto reply = Answer(Value("images", DataClass::kBlobSequence, ValueKind::kTensor, images));
  ASSERT_EQ(reply.blobs.size(), 2u);
  EXPECT_EQ(reply.blobs[1]->offset, 1000 + images.size() - 6);
  EXPECT_EQ(reply.blobs[1]->width, 5u);
  const std::string sounds = Texts({1, 2}, {"sound", "*label*"});
  const auto audio = Answer(Value("audio", DataClass::kBlobSequence, ValueKind::kTensor, sounds));
  ASSERT_EQ(audio.blobs.size(), 1u);
  EXPECT_EQ(audio.blobs[0]->label, "*label*");
}

TEST(ValueMessagesTest, AnythingCanBeHadByReference) {
  const std::string bytes = Doubles({1}, {3});
  const auto reply = Answer(Tensor(bytes), {.references = true});
  ASSERT_EQ(reply.blobs.size(), 1u);
  EXPECT_TRUE(reply.tensors.empty());
  EXPECT_EQ(reply.blobs[0]->offset, 1000u);
  EXPECT_EQ(reply.blobs[0]->length, bytes.size());
  EXPECT_EQ(reply.blobs[0]->crc, eventlog::Crc32c(bytes));
  // This graph is stored next to the summary, and counts as plain bytes here.
  const auto graph = Answer(Value("graphs", DataClass::kBlobSequence, ValueKind::kNone, "graph"));
  ASSERT_EQ(graph.blobs.size(), 1u);
  EXPECT_EQ(graph.blobs[0]->length, 5u);
}

TEST(ValueMessagesTest, AReferenceNeedsNoBytesUnlessTheyHoldSeveral) {
  const std::string bytes = Doubles({1}, {3});
  StoredValue tensor = Tensor(bytes);
  EXPECT_TRUE(NeedsBytes(tensor, {}));
  EXPECT_FALSE(NeedsBytes(tensor, {.references = true}));
  tensor.bytes = {};
  EXPECT_EQ(Answer(tensor, {.references = true}).blobs[0]->crc, eventlog::Crc32c(bytes));
  EXPECT_TRUE(NeedsBytes(Value("images", DataClass::kBlobSequence, ValueKind::kImage, "image"),
                         {.references = true}));
  EXPECT_FALSE(
      NeedsBytes(Value("graphs", DataClass::kBlobSequence, ValueKind::kNone, "graph"), {}));
}

TEST(ValueMessagesTest, ALandscapeHasItsSurfaceItsPathAndWhereItEnds) {
  const auto points = [](float x) {
    const auto axis = [](float first) {
      return Number(1, 2) + Number(2, 11) + Float(3, first) + Float(3, first + 1);
    };
    return Bytes(1, axis(x)) + Bytes(2, axis(x + 10)) + Bytes(3, axis(x + 20));
  };
  const std::string path = Number(1, 1) + Number(1, 5) + Bytes(2, points(100));
  const std::string metadata = Bytes(1, "PCA") + Bytes(2, "epoch") + Number(3, 1875);
  const std::string bytes =
      Bytes(1, points(0)) + Bytes(2, path) + Bytes(3, metadata) + Bytes(4, points(200));
  // A slice applies to tensors only; here it is ignored.
  const auto reply = Answer(
      Value("loss_landscape", DataClass::kTensor, ValueKind::kLandscape, bytes), {.slice = "[9]"});
  ASSERT_EQ(reply.landscapes.size(), 1u);
  const msg::LandscapeT& landscape = *reply.landscapes[0];
  EXPECT_EQ(landscape.x->numbers, (Numbers{0, 1}));
  EXPECT_EQ(landscape.z->numbers, (Numbers{20, 21}));
  EXPECT_EQ(landscape.intervals, (Shape{1, 5}));
  ASSERT_EQ(landscape.path.size(), 3u);
  EXPECT_EQ(landscape.path[1]->numbers, (Numbers{110, 111}));
  EXPECT_EQ(landscape.decomposition, "PCA");
  EXPECT_EQ(landscape.unit, "epoch");
  EXPECT_EQ(landscape.step_per_epoch, 1875);
  EXPECT_EQ(landscape.convergence->numbers, (Numbers{200, 210, 220}));
  EXPECT_EQ(landscape.convergence->shape, (Shape{3}));
}

TEST(ValueMessagesTest, WhatIsNotWhatItShouldBeAppendsNothing) {
  const std::string text = Texts({1}, {"x"});
  const std::string numbers = Doubles({2}, {1, 2});
  struct Row {
    StoredValue value;
    ValueOptions options;
    absl::StatusCode code;
  };
  // A shape of a few bytes with a single string, which is repeated for all elements.
  const std::string many = Texts({1'000'000}, {"x"});
  const std::string pictures = Texts({2003}, {"1"});
  const Row rows[] = {
      {Tensor("\xff\xff"), {}, absl::StatusCode::kInvalidArgument},
      {Tensor(numbers), {.slice = "[5]"}, absl::StatusCode::kInvalidArgument},
      {Value("histograms", DataClass::kTensor, ValueKind::kTensor, text),
       {},
       absl::StatusCode::kInvalidArgument},
      {Value("images", DataClass::kBlobSequence, ValueKind::kTensor, numbers),
       {},
       absl::StatusCode::kInvalidArgument},
      {Tensor(many), {}, absl::StatusCode::kResourceExhausted},
      {Value("images", DataClass::kBlobSequence, ValueKind::kTensor, pictures),
       {},
       absl::StatusCode::kResourceExhausted},
  };
  for (const Row& row : rows) {
    msg::ReadValuesReplyT reply;
    const auto size = AppendValue(row.value, row.options, &reply);
    EXPECT_EQ(size.status().code(), row.code) << size.status();
    EXPECT_TRUE(reply.tensors.empty() && reply.histograms.empty() && reply.blobs.empty());
  }
}

TEST(ValueMessagesTest, BlobsThatCannotBeListedCanBeHadAsOne) {
  for (const std::string& pictures : {Texts({2003}, {"1"}), std::string("\xff\xff")}) {
    const auto reply =
        Answer(Value("images", DataClass::kBlobSequence, ValueKind::kTensor, pictures),
               {.references = true});
    ASSERT_EQ(reply.blobs.size(), 1u);
    EXPECT_EQ(reply.blobs[0]->length, pictures.size());
  }
}

TEST(ValueMessagesTest, NoShapeMakesALargeAnswer) {
  // 2^29 elements, only one of which is stored.
  const std::string bytes = Number(1, 1) + ShapeBytes({1 << 29}) + Float(5, 2);
  const auto reply = Answer(Tensor(bytes), {.max_values = ~std::uint64_t{0}});
  EXPECT_EQ(reply.tensors[0]->numbers.size(), kMaxTensorValues);
  EXPECT_TRUE(reply.tensors[0]->cut);
  EXPECT_EQ(reply.tensors[0]->total, 1u << 29);
  msg::ReadValuesReplyT again;
  EXPECT_GE(AppendValue(Tensor(bytes), {}, &again).value_or(0), 800'000u);
}

}  // namespace
}  // namespace datamanager
