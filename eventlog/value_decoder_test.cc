#include "eventlog/value_decoder.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace eventlog {
namespace {

using namespace std::string_view_literals;
using testing::Bytes;
using testing::Double;
using testing::DoubleBytes;
using testing::Float;
using testing::FloatBytes;
using testing::Number;
using testing::Varint;
using Numbers = std::vector<double>;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::string Shape(const std::vector<std::uint64_t>& dimensions) {
  std::string dims;
  for (const std::uint64_t size : dimensions) dims += Bytes(2, Number(1, size));
  return Bytes(2, dims);
}
std::string Strings(const std::vector<std::string>& strings,
                    const std::vector<std::uint64_t>& shape) {
  std::string tensor = Number(1, 7) + Shape(shape);
  for (const std::string& text : strings) tensor += Bytes(8, text);
  return tensor;
}

TEST(ValueDecoderTest, TensorsOfBothFormatsAndOfNothing) {
  const auto nothing = ReadTensor(ValueKind::kNone, {});
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(nothing->shape(), (std::vector<std::int64_t>{0}));
  const std::string tensor = Number(1, 1) + Float(5, 2);
  EXPECT_EQ(ReadTensor(ValueKind::kTensor, tensor)->size(), 1u);
  const std::string mindspore = Number(1, 2) + Number(2, 11) + Float(3, 2) + Float(3, 3);
  EXPECT_EQ(ReadTensor(ValueKind::kMindSporeTensor, mindspore)->size(), 2u);
  EXPECT_EQ(ReadTensor(ValueKind::kImage, tensor).status().code(), kInvalid);
}

std::string OldHistogram(double min, double max, const Numbers& limits, const Numbers& counts,
                         bool packed) {
  std::string limit_list, count_list;
  for (const double limit : limits) limit_list += packed ? DoubleBytes(limit) : Double(6, limit);
  for (const double count : counts) count_list += packed ? DoubleBytes(count) : Double(7, count);
  const std::string lists =
      packed ? Bytes(6, limit_list) + Bytes(7, count_list) : limit_list + count_list;
  return Double(1, min) + Double(2, max) + Double(3, 4) + Double(4, 9) + Double(5, 25) + lists;
}

TEST(ValueDecoderTest, AnOldHistogramKeepsAllItsBuckets) {
  for (const bool packed : {true, false}) {
    const std::string bytes =
        OldHistogram(1, 4, {0, 1.5, 3, DBL_MAX, DBL_MAX}, {0, 1, 2, 1, 0}, packed);
    const auto histogram = ReadHistogram(ValueKind::kHistogram, bytes);
    ASSERT_TRUE(histogram.ok()) << histogram.status();
    // No bucket has its right edge below its left one, although the first ends below the minimum.
    EXPECT_EQ(histogram->lefts, (Numbers{0, 0, 1.5, 3, DBL_MAX}));
    EXPECT_EQ(histogram->rights, (Numbers{0, 1.5, 3, DBL_MAX, DBL_MAX}));
    EXPECT_EQ(histogram->counts, (Numbers{0, 1, 2, 1, 0}));
    EXPECT_EQ(histogram->min, 1);
    EXPECT_EQ(histogram->max, 4);
    EXPECT_EQ(histogram->count, 4);
    EXPECT_EQ(histogram->sum, 9);
    EXPECT_EQ(histogram->sum_squares, 25);
  }
}

TEST(ValueDecoderTest, LimitsThatAreOverArePassedOverAndNoBucketRunsBackwards) {
  struct Row {
    Numbers limits, counts, lefts, rights;
  };
  const Row rows[] = {
      {{1, 2, 3, 4}, {1, 1, 1}, {1, 1, 2}, {1, 2, 4}},  // One more edge than buckets.
      {{1}, {}, {}, {}},
      {{2, 1.5, 1}, {1, 1, 0}, {1, 2, 2}, {2, 2, 4}},
      {{3, 2, 5}, {1, 1, 1}, {1, 3, 3}, {3, 3, 4}},
  };
  for (const Row& row : rows) {
    const auto histogram =
        ReadHistogram(ValueKind::kHistogram, OldHistogram(1, 4, row.limits, row.counts, true));
    ASSERT_TRUE(histogram.ok()) << histogram.status();
    EXPECT_EQ(histogram->lefts, row.lefts) << &row - rows;
    EXPECT_EQ(histogram->rights, row.rights) << &row - rows;
    EXPECT_EQ(histogram->counts, row.counts) << &row - rows;
  }
  const std::string rows_of_tensor = DoubleBytes(2) + DoubleBytes(1) + DoubleBytes(3);
  const auto tensor =
      ReadHistogram(ValueKind::kTensor, Number(1, 2) + Shape({1, 3}) + Bytes(4, rows_of_tensor));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->lefts, (Numbers{1}));
  EXPECT_EQ(tensor->rights, (Numbers{2}));
  EXPECT_EQ(tensor->min, 1);
  const auto mindspore = ReadHistogram(ValueKind::kMindSporeHistogram,
                                       Bytes(1, Double(1, 2) + Double(2, -1) + Number(3, 1)));
  ASSERT_TRUE(mindspore.ok()) << mindspore.status();
  EXPECT_EQ(mindspore->lefts, (Numbers{1}));
  EXPECT_EQ(mindspore->rights, (Numbers{2}));
}

TEST(ValueDecoderTest, TensorBoardShowsAnOldHistogramWithoutItsEmptyEnds) {
  struct Row {
    Numbers limits, counts, lefts, rights, shown;
  };
  const Row rows[] = {
      {{0, 1.5, 3, DBL_MAX, DBL_MAX}, {0, 1, 0, 1, 0}, {1, 1.5, 3}, {1.5, 3, 4}, {1, 0, 1}},
      {{2, 3}, {1, 1}, {1, 2}, {2, 4}, {1, 1}},
      {{2, 3}, {1, 0}, {1}, {4}, {1}},
      {{2, 3}, {0, 0}, {}, {}, {}},
      {{}, {}, {}, {}, {}},
      {{0.1, 5}, {1, 1}, {1, 0.1F}, {0.1F, 4}, {1, 1}},  // floats
  };
  for (const Row& row : rows) {
    const std::string bytes = OldHistogram(1, 4, row.limits, row.counts, true);
    const auto histogram = ReadHistogram(ValueKind::kHistogram, bytes);
    ASSERT_TRUE(histogram.ok()) << histogram.status();
    const HistogramValue shown = AsTensorBoardShowsIt(*histogram);
    EXPECT_EQ(shown.lefts, row.lefts) << &row - rows;
    EXPECT_EQ(shown.rights, row.rights) << &row - rows;
    EXPECT_EQ(shown.counts, row.shown) << &row - rows;
  }
}

TEST(ValueDecoderTest, ANewHistogramIsATensorOfRows) {
  std::string content;
  for (const double number : {0.0, 1.0, 0.0, 1.0, 2.0, 3.0, 2.0, 4.0, 1.0, 4.0, 5.0, 0.0}) {
    content += DoubleBytes(number);
  }
  const std::string bytes = Number(1, 2) + Shape({4, 3}) + Bytes(4, content);
  const auto histogram = ReadHistogram(ValueKind::kTensor, bytes);
  ASSERT_TRUE(histogram.ok()) << histogram.status();
  EXPECT_EQ(histogram->lefts, (Numbers{0, 1, 2, 4}));
  EXPECT_EQ(histogram->rights, (Numbers{1, 2, 4, 5}));
  EXPECT_EQ(histogram->counts, (Numbers{0, 3, 1, 0}));
  EXPECT_EQ(histogram->min, 1);
  EXPECT_EQ(histogram->max, 4);
  EXPECT_EQ(histogram->count, 4);
  EXPECT_TRUE(std::isnan(histogram->sum));
  const auto empty = ReadHistogram(ValueKind::kTensor, Number(1, 2) + Shape({0, 3}));
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->lefts.empty());
}

TEST(ValueDecoderTest, MindSporesHistogramCountsWhatIsNotFinite) {
  const auto bucket = [](double left, double width, std::uint64_t count) {
    return Bytes(1, Double(1, left) + Double(2, width) + Number(3, count));
  };
  const std::string bytes = bucket(-1, 0.5, 3) + bucket(-0.5, 1.5, 4) + Number(2, 1) +
                            Number(3, 2) + Number(4, 3) + Double(5, 1) + Double(6, -1) +
                            Double(7, 0.25) + Number(8, 13);
  const auto histogram = ReadHistogram(ValueKind::kMindSporeHistogram, bytes);
  ASSERT_TRUE(histogram.ok()) << histogram.status();
  EXPECT_EQ(histogram->lefts, (Numbers{-1, -0.5}));
  EXPECT_EQ(histogram->rights, (Numbers{-0.5, 1}));
  EXPECT_EQ(histogram->counts, (Numbers{3, 4}));
  EXPECT_EQ(histogram->nan_count, 1u);
  EXPECT_EQ(histogram->positive_infinite_count, 2u);
  EXPECT_EQ(histogram->negative_infinite_count, 3u);
  EXPECT_EQ(histogram->min, -1);
  EXPECT_EQ(histogram->max, 1);
  EXPECT_EQ(histogram->sum, 0.25);
  EXPECT_EQ(histogram->count, 13);
}

TEST(ValueDecoderTest, WhatIsNoHistogramIsRefused) {
  const std::pair<ValueKind, std::string> rows[] = {
      {ValueKind::kHistogram, Bytes(7, DoubleBytes(1))},  // a bucket without a limit
      {ValueKind::kHistogram, Bytes(6, "1234567")},
      {ValueKind::kHistogram, Number(1, 1)},
      {ValueKind::kTensor, Number(1, 2) + Shape({3}) + Double(6, 1)},
      {ValueKind::kTensor, Number(1, 2) + Shape({1, 2}) + Double(6, 1)},
      {ValueKind::kTensor, Number(1, 2) + Shape({1 << 21, 3}) + Double(6, 1)},  // 20 bytes
      {ValueKind::kTensor, Strings({"a"}, {1, 3})},
      {ValueKind::kMindSporeHistogram, Bytes(1, Double(1, 0) + Double(2, 1))},  // no count
      {ValueKind::kMindSporeHistogram, Number(2, ~std::uint64_t{0})},           // -1 NaN
      {ValueKind::kImage, ""},
  };
  for (const auto& [kind, bytes] : rows) {
    EXPECT_EQ(ReadHistogram(kind, bytes).status().code(), kInvalid) << static_cast<int>(kind);
  }
}

constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n rest"sv;

TEST(ValueDecoderTest, AnOldImageTellsItsSize) {
  const std::string bytes = Number(1, 2) + Number(2, 4) + Number(3, 3) + Bytes(4, kPng);
  for (const ValueKind kind : {ValueKind::kImage, ValueKind::kMindSporeImage}) {
    const auto blobs = ReadBlobs(kind, "images", bytes);
    ASSERT_TRUE(blobs.ok()) << blobs.status();
    ASSERT_EQ(blobs->size(), 1u);
    const BlobView& image = blobs->front();
    EXPECT_EQ(image.bytes, kPng);
    EXPECT_EQ(image.bytes.data(), bytes.data() + bytes.size() - kPng.size());
    EXPECT_EQ(image.height, 2);
    EXPECT_EQ(image.width, 4);
    EXPECT_EQ(image.channels, 3);
    EXPECT_EQ(image.content_type, "image/png");
  }
}

TEST(ValueDecoderTest, MindSporeRequiresEveryFieldOfAnImage) {
  const std::string fields[] = {Number(1, 2), Number(2, 4), Number(3, 3), Bytes(4, kPng)};
  for (int missing = 0; missing < 4; ++missing) {
    std::string bytes;
    for (int i = 0; i < 4; ++i) bytes += i == missing ? "" : fields[i];
    EXPECT_EQ(ReadBlobs(ValueKind::kMindSporeImage, "image", bytes).status().code(), kInvalid);
    EXPECT_TRUE(ReadBlobs(ValueKind::kImage, "images", bytes).ok());
  }
}

TEST(ValueDecoderTest, ColorSpacesHaveChannels) {
  const std::pair<std::uint64_t, std::int64_t> rows[] = {{0, 0}, {1, 1}, {2, 2}, {3, 3},
                                                         {4, 4}, {5, 3}, {6, 4}, {7, 0}};
  for (const auto& [colorspace, channels] : rows) {
    EXPECT_EQ(ReadBlobs(ValueKind::kImage, "", Number(3, colorspace))->front().channels, channels);
  }
}

TEST(ValueDecoderTest, AnOldSoundTellsHowItIsPlayed) {
  const std::string bytes =
      Float(1, 8000) + Number(2, 2) + Number(3, 4) + Bytes(4, "sound") + Bytes(5, "audio/flac");
  const auto blobs = ReadBlobs(ValueKind::kAudio, "audio", bytes);
  ASSERT_TRUE(blobs.ok()) << blobs.status();
  EXPECT_EQ(blobs->front().bytes, "sound");
  EXPECT_EQ(blobs->front().sample_rate, 8000);
  EXPECT_EQ(blobs->front().channels, 2);
  EXPECT_EQ(blobs->front().frames, 4);
  EXPECT_EQ(blobs->front().content_type, "audio/flac");
}

TEST(ValueDecoderTest, NewImagesFollowTheirSize) {
  const std::string bytes = Strings({"4", "2", std::string(kPng), "GIF89a..."}, {4});
  const auto blobs = ReadBlobs(ValueKind::kTensor, "images", bytes);
  ASSERT_TRUE(blobs.ok()) << blobs.status();
  ASSERT_EQ(blobs->size(), 2u);
  EXPECT_EQ(blobs->at(0).bytes, kPng);
  EXPECT_EQ(blobs->at(0).width, 4);
  EXPECT_EQ(blobs->at(0).height, 2);
  EXPECT_EQ(blobs->at(1).content_type, "image/gif");
  const auto no_number = ReadBlobs(ValueKind::kTensor, "images", Strings({"wide", "2", "x"}, {3}));
  ASSERT_TRUE(no_number.ok());
  EXPECT_EQ(no_number->front().width, 0);
  EXPECT_TRUE(ReadBlobs(ValueKind::kTensor, "images", Strings({"4", "2"}, {2}))->empty());
}

TEST(ValueDecoderTest, NewSoundsMayHaveLabels) {
  const std::string wav = "RIFF....WAVE";
  const auto plain = ReadBlobs(ValueKind::kTensor, "audio", Strings({wav, wav}, {2}));
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->size(), 2u);
  EXPECT_EQ(plain->at(1).content_type, "audio/wav");
  const std::string bytes = Strings({wav, "one", wav, "two"}, {2, 2});
  const auto labelled = ReadBlobs(ValueKind::kTensor, "audio", bytes);
  ASSERT_TRUE(labelled.ok());
  ASSERT_EQ(labelled->size(), 2u);
  EXPECT_EQ(labelled->at(0).label, "one");
  EXPECT_EQ(labelled->at(1).bytes, wav);
  EXPECT_EQ(labelled->at(1).label, "two");
  EXPECT_TRUE(ReadBlobs(ValueKind::kTensor, "audio", Strings({}, {2, 0}))->empty());
}

TEST(ValueDecoderTest, OfOtherPluginsEachStringIsABlob) {
  const std::string bytes = Strings({"a", "b", "c", "d"}, {2, 2});
  const auto blobs = ReadBlobs(ValueKind::kTensor, "mine", bytes);
  ASSERT_TRUE(blobs.ok());
  ASSERT_EQ(blobs->size(), 4u);
  EXPECT_EQ(blobs->at(3).bytes, "d");
  EXPECT_EQ(blobs->at(3).label, "");
}

TEST(ValueDecoderTest, WhatHasNoBlobsIsRefused) {
  const std::pair<ValueKind, std::string> rows[] = {
      {ValueKind::kTensor, Number(1, 1) + Float(5, 1)},
      {ValueKind::kTensor, Strings({"one"}, {1})},             // no size
      {ValueKind::kTensor, Strings({"1", "2", "3"}, {1, 3})},  // two dimensions
      {ValueKind::kTensor, Strings({"x"}, {1 << 20})},         // a million of 20 bytes
      {ValueKind::kImage, Bytes(1, "height")},
      {ValueKind::kAudio, Number(1, 8000)},
      {ValueKind::kHistogram, ""},
      {ValueKind::kNone, ""},
  };
  for (const auto& [kind, bytes] : rows) {
    EXPECT_EQ(ReadBlobs(kind, "images", bytes).status().code(), kInvalid) << static_cast<int>(kind);
  }
}

TEST(ValueDecoderTest, AnOldSoundOfAnyPluginIsOne) {
  EXPECT_EQ(ReadBlobs(ValueKind::kAudio, "", "")->size(), 1u);
}

TEST(ValueDecoderTest, ACurveHasSixRows) {
  std::string list;
  for (int i = 0; i < 12; ++i) list += FloatBytes(static_cast<float>(i));
  const std::string bytes = Number(1, 1) + Shape({6, 2}) + Bytes(5, list);
  const auto curve = ReadPrCurve(bytes);
  ASSERT_TRUE(curve.ok()) << curve.status();
  EXPECT_EQ(curve->true_positives, (Numbers{0, 1}));
  EXPECT_EQ(curve->false_positives, (Numbers{2, 3}));
  EXPECT_EQ(curve->true_negatives, (Numbers{4, 5}));
  EXPECT_EQ(curve->false_negatives, (Numbers{6, 7}));
  EXPECT_EQ(curve->precision, (Numbers{8, 9}));
  EXPECT_EQ(curve->recall, (Numbers{10, 11}));
  EXPECT_EQ(ReadPrCurve(Number(1, 1) + Shape({5, 2}) + Float(5, 1)).status().code(), kInvalid);
  EXPECT_EQ(ReadPrCurve(Number(1, 1) + Shape({6, 1 << 21}) + Float(5, 1)).status().code(),
            kInvalid);
  EXPECT_EQ(ReadPrCurve(Strings({"x"}, {6, 2})).status().code(), kInvalid);
}

TEST(ValueDecoderTest, AMeshTellsItsParts) {
  const std::string bytes = Number(1, 0) + Bytes(2, "chair") + Number(3, 2) + Bytes(5, "{}") +
                            Bytes(6, Varint(1) + Varint(~std::uint64_t{0})) + Number(6, 3) +
                            Number(7, 6);
  const auto mesh = ReadMeshContent(bytes);
  ASSERT_TRUE(mesh.ok()) << mesh.status();
  EXPECT_EQ(mesh->name, "chair");
  EXPECT_EQ(mesh->type, MeshContent::Type::kFace);
  EXPECT_EQ(mesh->json_config, "{}");
  EXPECT_EQ(mesh->shape, (std::vector<std::int64_t>{1, -1, 3}));
  EXPECT_EQ(mesh->components, 6u);
  EXPECT_EQ(ReadMeshContent(Number(2, 1)).status().code(), kInvalid);
  EXPECT_EQ(ReadMeshContent(Bytes(6, std::string(255, '\1'))).status().code(), kInvalid);
}

TEST(ValueDecoderTest, ALandscapeHasASurfaceAPathAndAPoint) {
  const auto tensor = [](float number) {
    return Number(1, 2) + Number(2, 11) + Float(3, number) + Float(3, number + 1);
  };
  const auto points = [&](float number) {
    return Bytes(1, tensor(number)) + Bytes(2, tensor(number + 10)) + Bytes(3, tensor(number + 20));
  };
  const std::string bytes =
      Bytes(1, points(0)) + Bytes(2, Number(1, 1) + Bytes(1, Varint(5)) + Bytes(2, points(100))) +
      Bytes(3, Bytes(1, "PCA") + Bytes(2, "epoch") + Number(3, 1875)) + Bytes(4, points(200));
  const auto landscape = ReadLandscape(bytes);
  ASSERT_TRUE(landscape.ok()) << landscape.status();
  const auto numbers = [](const TensorView& view) {
    Numbers result;
    view.AppendNumbers(0, 10, &result);
    return result;
  };
  EXPECT_EQ(numbers(landscape->surface.x), (Numbers{0, 1}));
  EXPECT_EQ(numbers(landscape->surface.z), (Numbers{20, 21}));
  EXPECT_EQ(landscape->intervals, (std::vector<std::int64_t>{1, 5}));
  EXPECT_EQ(numbers(landscape->path.y), (Numbers{110, 111}));
  EXPECT_EQ(landscape->decomposition, "PCA");
  EXPECT_EQ(landscape->unit, "epoch");
  EXPECT_EQ(landscape->step_per_epoch, 1875);
  EXPECT_EQ(numbers(landscape->convergence.z), (Numbers{220, 221}));
  EXPECT_TRUE(ReadLandscape("").ok());  // All fields are optional.
  EXPECT_EQ(ReadLandscape(Bytes(1, Bytes(1, Number(1, 2)))).status().code(), kInvalid);
}

TEST(ValueDecoderTest, RunMetadataHasATag) {
  const std::string bytes = Bytes(1, "step 5") + Bytes(2, "serialized");
  const auto metadata = ReadTaggedRunMetadata(bytes);
  ASSERT_TRUE(metadata.ok());
  EXPECT_EQ(metadata->tag, "step 5");
  EXPECT_EQ(metadata->run_metadata, "serialized");
  EXPECT_EQ(ReadTaggedRunMetadata(Number(1, 1)).status().code(), kInvalid);
}

}  // namespace
}  // namespace eventlog
