#include "eventlog/value_decoder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "eventlog/number_type.h"
#include "eventlog/wire.h"
#include "protozero/types.hpp"

namespace eventlog {
namespace {

using wire::Error;
using Tag = protozero::pbf_tag_type;

enum class HistogramField : Tag {
  kMin = 1,
  kMax = 2,
  kNum = 3,
  kSum = 4,
  kSumSquares = 5,
  kLimit = 6,
  kBucket = 7,
};
enum class MsHistogramField : Tag {
  kBuckets = 1,
  kNan = 2,
  kPositive = 3,
  kNegative = 4,
  kMax = 5,
  kMin = 6,
  kSum = 7,
  kCount = 8,
};
enum class MsBucketField : Tag { kLeft = 1, kWidth = 2, kCount = 3 };
enum class ImageField : Tag { kHeight = 1, kWidth = 2, kColorspace = 3, kEncoded = 4 };
enum class AudioField : Tag {
  kSampleRate = 1,
  kChannels = 2,
  kFrames = 3,
  kEncoded = 4,
  kContentType = 5,
};
enum class MeshField : Tag {
  kName = 2,
  kContentType = 3,
  kJsonConfig = 5,
  kShape = 6,
  kComponents = 7,
};
enum class LandscapeField : Tag { kSurface = 1, kPath = 2, kMetadata = 3, kConvergence = 4 };
enum class PathField : Tag { kIntervals = 1, kPoints = 2 };
enum class LandscapeMetadataField : Tag { kDecomposition = 1, kUnit = 2, kStepPerEpoch = 3 };
enum class PointField : Tag { kX = 1, kY = 2, kZ = 3 };
enum class RunMetadataField : Tag { kTag = 1, kRunMetadata = 2 };

// Returns the values from `parse`, or its exception as a status.
template <typename Value, typename Parse>
absl::StatusOr<Value> Parsed(std::string_view thing, Parse parse) {
  Value value;
  const absl::Status status = wire::Guarded(thing, [&] { parse(&value); });
  if (!status.ok()) return status;
  return value;
}

// Returns the value, or throws `why`; for use within Guarded().
template <typename Value>
Value OrThrow(absl::StatusOr<Value> value, const char* why) {
  if (!value.ok()) throw Error(why);
  return *std::move(value);
}

// Appends a repeated double, packed or not.
template <typename Message>
void TakeDoubles(Message& message, std::vector<double>* out) {
  const auto append = [out](double number) {
    if (out->size() >= kMaxBuckets) throw Error("over 1,048,576 buckets");
    out->push_back(number);
  };
  if (message.wire_type() != wire::Type::length_delimited) {
    append(wire::TakeDouble(message));
    return;
  }
  for (const double number : message.get_packed_double()) append(number);
}

// Appends a repeated varint, packed or not.
template <typename Message>
void TakeIntegers(Message& message, std::size_t limit, std::vector<std::int64_t>* out) {
  const auto append = [&](std::int64_t number) {
    if (out->size() >= limit) throw Error("too long a list of integers");
    out->push_back(number);
  };
  if (message.wire_type() != wire::Type::length_delimited) {
    append(wire::TakeInt64(message));
    return;
  }
  for (const std::int64_t number : message.get_packed_int64()) append(number);
}

void OldHistogram(std::string_view bytes, HistogramValue* result) {
  auto histogram = wire::Open<HistogramField>(bytes);
  while (histogram.next()) {
    switch (histogram.tag()) {
      case HistogramField::kMin:
        result->min = wire::TakeDouble(histogram);
        break;
      case HistogramField::kMax:
        result->max = wire::TakeDouble(histogram);
        break;
      case HistogramField::kNum:
        result->count = wire::TakeDouble(histogram);
        break;
      case HistogramField::kSum:
        result->sum = wire::TakeDouble(histogram);
        break;
      case HistogramField::kSumSquares:
        result->sum_squares = wire::TakeDouble(histogram);
        break;
      case HistogramField::kLimit:
        TakeDoubles(histogram, &result->rights);
        break;
      case HistogramField::kBucket:
        TakeDoubles(histogram, &result->counts);
        break;
      default:
        histogram.skip();
    }
  }
  if (result->rights.size() < result->counts.size()) {
    throw Error("it has fewer limits than buckets");
  }
  // Limits beyond the number of buckets (one, if a writer stores all edges) are ignored, as in
  // TensorBoard.
  result->rights.resize(result->counts.size());
  if (result->rights.empty()) return;
  result->rights.back() = result->max;
  // No bucket runs backwards. (The comparison keeps a NaN.)
  double left = std::min(result->rights.front(), result->min);
  for (double& right : result->rights) {
    if (right < left) right = left;
    result->lefts.push_back(left);
    left = right;
  }
}

// Checks a count that was read as a signed integer.
std::uint64_t Count(std::int64_t number) {
  if (number < 0) throw Error("a negative count");
  return static_cast<std::uint64_t>(number);
}

void MindSporeBucket(std::string_view bytes, HistogramValue* result) {
  std::optional<double> left, width;
  std::optional<std::int64_t> count;
  auto bucket = wire::Open<MsBucketField>(bytes);
  while (bucket.next()) {
    switch (bucket.tag()) {
      case MsBucketField::kLeft:
        left = wire::TakeDouble(bucket);
        break;
      case MsBucketField::kWidth:
        width = wire::TakeDouble(bucket);
        break;
      case MsBucketField::kCount:
        count = wire::TakeInt64(bucket);
        break;
      default:
        bucket.skip();
    }
  }
  if (!left || !width || !count) throw Error("a bucket without left, width or count");
  if (result->lefts.size() >= kMaxBuckets) throw Error("over 1,048,576 buckets");
  result->lefts.push_back(std::min(*left, *left + *width));
  result->rights.push_back(std::max(*left, *left + *width));
  result->counts.push_back(static_cast<double>(Count(*count)));
}

void MindSporeHistogram(std::string_view bytes, HistogramValue* result) {
  result->sum_squares = std::numeric_limits<double>::quiet_NaN();
  auto histogram = wire::Open<MsHistogramField>(bytes);
  while (histogram.next()) {
    switch (histogram.tag()) {
      case MsHistogramField::kBuckets:
        MindSporeBucket(wire::TakeBytes(histogram), result);
        break;
      case MsHistogramField::kNan:
        result->nan_count = Count(wire::TakeInt64(histogram));
        break;
      case MsHistogramField::kPositive:
        result->positive_infinite_count = Count(wire::TakeInt64(histogram));
        break;
      case MsHistogramField::kNegative:
        result->negative_infinite_count = Count(wire::TakeInt64(histogram));
        break;
      case MsHistogramField::kMax:
        result->max = wire::TakeDouble(histogram);
        break;
      case MsHistogramField::kMin:
        result->min = wire::TakeDouble(histogram);
        break;
      case MsHistogramField::kSum:
        result->sum = wire::TakeDouble(histogram);
        break;
      case MsHistogramField::kCount:
        result->count = static_cast<double>(Count(wire::TakeInt64(histogram)));
        break;
      default:
        histogram.skip();
    }
  }
}

void HistogramOfTensor(const TensorView& tensor, HistogramValue* result) {
  const auto& shape = tensor.shape();
  if (tensor.IsText() || IsComplex(tensor.type()) || shape.size() != 2 || shape[1] != 3) {
    throw Error("it is no tensor of the shape [k, 3]");
  }
  if (tensor.size() / 3 > kMaxBuckets) throw Error("over 1,048,576 buckets");
  std::vector<double> numbers;
  tensor.AppendNumbers(0, tensor.size(), &numbers);
  result->sum = std::numeric_limits<double>::quiet_NaN();
  result->sum_squares = result->sum;
  bool any = false;
  for (std::size_t i = 0; i < numbers.size(); i += 3) {
    result->lefts.push_back(std::min(numbers[i], numbers[i + 1]));
    result->rights.push_back(std::max(numbers[i + 1], numbers[i]));
    result->counts.push_back(numbers[i + 2]);
    result->count += numbers[i + 2];
    if (numbers[i + 2] == 0) continue;
    if (!any) result->min = result->lefts.back();
    result->max = result->rights.back();
    any = true;
  }
}

std::string_view SniffedType(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff"sv)) return "image/jpeg";
  if (bytes.starts_with("GIF87a"sv) || bytes.starts_with("GIF89a"sv)) return "image/gif";
  if (bytes.starts_with("RIFF"sv) && bytes.substr(0, 12).ends_with("WAVE"sv)) return "audio/wav";
  if (bytes.starts_with("RIFF"sv) && bytes.substr(0, 12).ends_with("WEBP"sv)) return "image/webp";
  return {};
}

// Converts tensorflow.Summary.Image.colorspace.
std::int64_t ChannelsOf(std::int64_t colorspace) {
  constexpr std::int64_t kChannels[] = {0, 1, 2, 3, 4, 3, 4};
  return colorspace >= 1 && colorspace <= 6 ? kChannels[colorspace] : 0;
}

BlobView OldImage(std::string_view bytes, bool all_required) {
  BlobView result;
  unsigned seen = 0;
  auto image = wire::Open<ImageField>(bytes);
  while (image.next()) {
    const auto number = static_cast<Tag>(image.tag());
    if (number <= 4) seen |= 1U << number;
    switch (image.tag()) {
      case ImageField::kHeight:
        result.height = wire::TakeInt64(image);
        break;
      case ImageField::kWidth:
        result.width = wire::TakeInt64(image);
        break;
      case ImageField::kColorspace:
        result.channels = ChannelsOf(wire::TakeInt64(image));
        break;
      case ImageField::kEncoded:
        result.bytes = wire::TakeBytes(image);
        break;
      default:
        image.skip();
    }
  }
  if (all_required && seen != 0b11110)
    throw Error("height, width, color space or bytes are missing");
  result.content_type = SniffedType(result.bytes);
  return result;
}

BlobView OldAudio(std::string_view bytes) {
  BlobView result;
  auto audio = wire::Open<AudioField>(bytes);
  while (audio.next()) {
    switch (audio.tag()) {
      case AudioField::kSampleRate:
        result.sample_rate = wire::TakeFloat(audio);
        break;
      case AudioField::kChannels:
        result.channels = wire::TakeInt64(audio);
        break;
      case AudioField::kFrames:
        result.frames = wire::TakeInt64(audio);
        break;
      case AudioField::kEncoded:
        result.bytes = wire::TakeBytes(audio);
        break;
      case AudioField::kContentType:
        result.content_type = wire::TakeBytes(audio);
        break;
      default:
        audio.skip();
    }
  }
  if (result.content_type.empty()) result.content_type = SniffedType(result.bytes);
  return result;
}

// Returns 0 if the text is not a decimal number.
std::int64_t Decimal(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

void BlobsOfTensor(std::string_view plugin, const TensorView& tensor,
                   std::vector<BlobView>* result) {
  if (!tensor.IsText()) throw Error("it is no tensor of strings");
  if (tensor.size() > kMaxBlobs) throw Error("over 100,000 strings");
  std::vector<std::string_view> strings;
  tensor.AppendStrings(0, tensor.size(), &strings);
  const auto& shape = tensor.shape();
  if (plugin == "images") {
    if (shape.size() != 1 || strings.size() < 2) throw Error("width and height are missing");
    for (std::size_t i = 2; i < strings.size(); ++i) {
      BlobView& blob = result->emplace_back();
      blob.bytes = strings[i];
      blob.content_type = SniffedType(strings[i]);
      blob.width = Decimal(strings[0]);
      blob.height = Decimal(strings[1]);
    }
    return;
  }
  // The strings after a sound are its label, and others that are not shown.
  const bool audio = plugin == "audio";
  const std::size_t columns =
      audio && shape.size() > 1 && shape[0] != 0
          ? std::max<std::size_t>(1, strings.size() / static_cast<std::size_t>(shape[0]))
          : 1;
  for (std::size_t i = 0; i < strings.size(); i += columns) {
    BlobView& blob = result->emplace_back();
    blob.bytes = strings[i];
    blob.content_type = SniffedType(strings[i]);
    if (columns > 1) blob.label = strings[i + 1];
  }
}

void ReadPoints(std::string_view bytes, Landscape::Points* points) {
  auto point = wire::Open<PointField>(bytes);
  while (point.next()) {
    TensorView* tensor = nullptr;
    if (point.tag() == PointField::kX) tensor = &points->x;
    if (point.tag() == PointField::kY) tensor = &points->y;
    if (point.tag() == PointField::kZ) tensor = &points->z;
    if (tensor == nullptr) {
      point.skip();
    } else {
      *tensor = OrThrow(TensorView::OfMindSpore(wire::TakeBytes(point)), "a damaged tensor");
    }
  }
}

void ReadPath(std::string_view bytes, Landscape* landscape) {
  auto path = wire::Open<PathField>(bytes);
  while (path.next()) {
    if (path.tag() == PathField::kIntervals) {
      TakeIntegers(path, 1'000'000, &landscape->intervals);
    } else if (path.tag() == PathField::kPoints) {
      ReadPoints(wire::TakeBytes(path), &landscape->path);
    } else {
      path.skip();
    }
  }
}

void ReadLandscapeMetadata(std::string_view bytes, Landscape* landscape) {
  auto metadata = wire::Open<LandscapeMetadataField>(bytes);
  while (metadata.next()) {
    switch (metadata.tag()) {
      case LandscapeMetadataField::kDecomposition:
        landscape->decomposition = wire::TakeBytes(metadata);
        break;
      case LandscapeMetadataField::kUnit:
        landscape->unit = wire::TakeBytes(metadata);
        break;
      case LandscapeMetadataField::kStepPerEpoch:
        landscape->step_per_epoch = wire::TakeInt64(metadata);
        break;
      default:
        metadata.skip();
    }
  }
}

}  // namespace

absl::StatusOr<TensorView> ReadTensor(ValueKind kind, std::string_view bytes) {
  switch (kind) {
    case ValueKind::kNone:
      return TensorView();
    case ValueKind::kTensor:
      return TensorView::OfTensorFlow(bytes);
    case ValueKind::kMindSporeTensor:
      return TensorView::OfMindSpore(bytes);
    default:
      return absl::InvalidArgumentError("not a tensor: the value is of another kind");
  }
}

absl::StatusOr<HistogramValue> ReadHistogram(ValueKind kind, std::string_view bytes) {
  return Parsed<HistogramValue>("a histogram", [&](HistogramValue* result) {
    if (kind == ValueKind::kHistogram) return OldHistogram(bytes, result);
    if (kind == ValueKind::kMindSporeHistogram) return MindSporeHistogram(bytes, result);
    HistogramOfTensor(OrThrow(ReadTensor(kind, bytes), "it is no tensor"), result);
  });
}

HistogramValue AsTensorBoardShowsIt(const HistogramValue& histogram) {
  HistogramValue result = histogram;
  result.lefts.clear();
  result.rights.clear();
  result.counts.clear();
  const auto filled = [](double count) { return count > 0; };
  const auto& counts = histogram.counts;
  const auto first = std::find_if(counts.begin(), counts.end(), filled);
  if (first == counts.end()) return result;
  const auto begin = static_cast<std::size_t>(first - counts.begin());
  const auto end = static_cast<std::size_t>(
      std::find_if(counts.rbegin(), counts.rend(), filled).base() - counts.begin());
  for (std::size_t i = begin; i < end; ++i) {
    const double left = i == begin ? histogram.min : histogram.lefts[i];
    const double right = i + 1 == end ? histogram.max : histogram.rights[i];
    result.lefts.push_back(static_cast<float>(left));
    result.rights.push_back(static_cast<float>(right));
    result.counts.push_back(static_cast<float>(counts[i]));
  }
  return result;
}

absl::StatusOr<std::vector<BlobView>> ReadBlobs(ValueKind kind, std::string_view plugin,
                                                std::string_view bytes) {
  using Blobs = std::vector<BlobView>;
  switch (kind) {
    case ValueKind::kImage:
      return Parsed<Blobs>("an image",
                           [&](Blobs* blobs) { blobs->push_back(OldImage(bytes, false)); });
    case ValueKind::kMindSporeImage:
      return Parsed<Blobs>("an image",
                           [&](Blobs* blobs) { blobs->push_back(OldImage(bytes, true)); });
    case ValueKind::kAudio:
      return Parsed<Blobs>("a sound", [&](Blobs* blobs) { blobs->push_back(OldAudio(bytes)); });
    case ValueKind::kTensor:
      return Parsed<Blobs>("a sequence of blobs", [&](Blobs* blobs) {
        BlobsOfTensor(plugin, OrThrow(TensorView::OfTensorFlow(bytes), "it is no tensor"), blobs);
      });
    default:
      return absl::InvalidArgumentError("not a blob: the value is of another kind");
  }
}

absl::StatusOr<std::size_t> CountBlobs(ValueKind kind, std::string_view plugin,
                                       std::string_view bytes) {
  const auto blobs = ReadBlobs(kind, plugin, bytes);
  if (!blobs.ok()) return blobs.status();
  const bool images =
      kind == ValueKind::kImage || kind == ValueKind::kMindSporeImage || plugin == "images";
  return blobs->size() + (images ? 2 : 0);
}

absl::StatusOr<PrCurve> ReadPrCurve(std::string_view tensor) {
  return Parsed<PrCurve>("a precision-recall curve", [&](PrCurve* curve) {
    const TensorView view = OrThrow(TensorView::OfTensorFlow(tensor), "it is no tensor");
    if (view.IsText() || IsComplex(view.type()) || view.shape().size() != 2 ||
        view.shape()[0] != 6) {
      throw Error("it is no tensor of the shape [6, thresholds]");
    }
    const auto thresholds = static_cast<std::uint64_t>(view.shape()[1]);
    if (thresholds > kMaxThresholds) throw Error("over 1,048,576 thresholds");
    std::uint64_t row = 0;
    for (auto* numbers : {&curve->true_positives, &curve->false_positives, &curve->true_negatives,
                          &curve->false_negatives, &curve->precision, &curve->recall}) {
      view.AppendNumbers(row++ * thresholds, thresholds, numbers);
    }
  });
}

absl::StatusOr<MeshContent> ReadMeshContent(std::string_view content) {
  return Parsed<MeshContent>("content of a mesh", [&](MeshContent* result) {
    auto mesh = wire::Open<MeshField>(content);
    while (mesh.next()) {
      switch (mesh.tag()) {
        case MeshField::kName:
          result->name = wire::TakeBytes(mesh);
          break;
        case MeshField::kContentType:
          result->type = static_cast<MeshContent::Type>(wire::TakeEnum(mesh));
          break;
        case MeshField::kJsonConfig:
          result->json_config = wire::TakeBytes(mesh);
          break;
        case MeshField::kShape:
          TakeIntegers(mesh, TensorView::kMaxRank, &result->shape);
          break;
        case MeshField::kComponents:
          result->components = static_cast<std::uint32_t>(wire::TakeInt64(mesh));
          break;
        default:
          mesh.skip();
      }
    }
  });
}

absl::StatusOr<Landscape> ReadLandscape(std::string_view bytes) {
  return Parsed<Landscape>("a loss landscape", [&](Landscape* result) {
    auto landscape = wire::Open<LandscapeField>(bytes);
    while (landscape.next()) {
      switch (landscape.tag()) {
        case LandscapeField::kSurface:
          ReadPoints(wire::TakeBytes(landscape), &result->surface);
          break;
        case LandscapeField::kPath:
          ReadPath(wire::TakeBytes(landscape), result);
          break;
        case LandscapeField::kMetadata:
          ReadLandscapeMetadata(wire::TakeBytes(landscape), result);
          break;
        case LandscapeField::kConvergence:
          ReadPoints(wire::TakeBytes(landscape), &result->convergence);
          break;
        default:
          landscape.skip();
      }
    }
  });
}

absl::StatusOr<TaggedRunMetadata> ReadTaggedRunMetadata(std::string_view bytes) {
  return Parsed<TaggedRunMetadata>("run metadata", [&](TaggedRunMetadata* result) {
    auto metadata = wire::Open<RunMetadataField>(bytes);
    while (metadata.next()) {
      if (metadata.tag() == RunMetadataField::kTag) {
        result->tag = wire::TakeBytes(metadata);
      } else if (metadata.tag() == RunMetadataField::kRunMetadata) {
        result->run_metadata = wire::TakeBytes(metadata);
      } else {
        metadata.skip();
      }
    }
  });
}

}  // namespace eventlog
