#include "datamanager/answer/value_messages.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "eventlog/crc32c.h"
#include "eventlog/number_type.h"
#include "eventlog/tensor_slice.h"
#include "eventlog/tensor_view.h"
#include "eventlog/value_decoder.h"
#include "runtime/text/utf8.h"

namespace datamanager {
namespace {

using eventlog::DataClass;
using eventlog::NumberType;
using eventlog::TensorView;
using eventlog::ValueKind;

// Encoded size of a table without its lists.
constexpr std::size_t kTableBytes = 128;
constexpr std::size_t kMaxCaptionBytes = 1024;

enum class Form { kTensor, kHistogram, kBlobs, kBytes, kLandscape };

Form FormOf(const StoredValue& value) {
  switch (value.kind) {
    case ValueKind::kHistogram:
    case ValueKind::kMindSporeHistogram:
      return Form::kHistogram;
    case ValueKind::kImage:
    case ValueKind::kAudio:
    case ValueKind::kMindSporeImage:
      return Form::kBlobs;
    case ValueKind::kLandscape:
      return Form::kLandscape;
    case ValueKind::kTensor:
      if (value.plugin == "histograms") return Form::kHistogram;
      return value.data_class == DataClass::kBlobSequence ? Form::kBlobs : Form::kTensor;
    case ValueKind::kNone:
      return value.length == 0 ? Form::kTensor : Form::kBytes;
    case ValueKind::kSimpleValue:
    case ValueKind::kMindSporeTensor:
      break;
  }
  return Form::kTensor;
}

// A double cannot represent every (u)int64; a complex number has two parts.
bool IsAnsweredAsBytes(NumberType type) {
  return type == NumberType::kInt64 || type == NumberType::kUint64 || eventlog::IsComplex(type);
}

std::vector<std::uint8_t> AsBytes(std::string_view text) { return {text.begin(), text.end()}; }

// The requested elements of a tensor.
class TensorPart {
 public:
  TensorPart(const TensorView& tensor, eventlog::TensorSlice slice, std::uint64_t limit)
      : tensor_(tensor), slice_(std::move(slice)), count_(std::min(limit, slice_.size)) {
    is_whole_ = slice_.shape == tensor.shape();
    if (!is_whole_) elements_ = eventlog::ElementsOf(slice_, tensor.shape(), count_);
  }

  const eventlog::TensorSlice& slice() const { return slice_; }
  std::uint64_t count() const { return count_; }

  std::vector<double> Numbers() const {
    std::vector<double> numbers;
    numbers.reserve(count_);
    if (is_whole_) {
      tensor_.AppendNumbers(0, count_, &numbers);
    } else {
      tensor_.AppendNumbersAt(elements_, &numbers);
    }
    return numbers;
  }
  std::string Bytes() const {
    std::string bytes;
    if (is_whole_) {
      tensor_.AppendBytes(0, count_, &bytes);
    } else {
      tensor_.AppendBytesAt(elements_, &bytes);
    }
    return bytes;
  }
  // Returns strings until the next one would exceed kMaxTextBytes.
  std::vector<std::string> Strings() const {
    std::vector<std::string_view> all;
    const std::uint64_t needed =
        is_whole_ ? count_ : (elements_.empty() ? 0 : elements_.back() + 1);
    tensor_.AppendStrings(0, needed, &all);
    std::vector<std::string> strings;
    std::size_t bytes = 0;
    for (std::uint64_t i = 0; i < count_; ++i) {
      const std::string_view text = all[is_whole_ ? i : elements_[i]];
      bytes += text.size() + 8;
      if (bytes > kMaxTextBytes) break;
      strings.push_back(runtime::LossyUtf8(text));
    }
    return strings;
  }

 private:
  const TensorView& tensor_;
  const eventlog::TensorSlice slice_;
  const std::uint64_t count_;
  bool is_whole_ = false;
  std::vector<std::uint64_t> elements_;  // Unless is_whole_.
};

absl::StatusOr<msg::TensorT> TensorMessage(const TensorView& tensor, const ValueOptions& options,
                                           std::uint64_t limit) {
  auto slice = eventlog::ParseTensorSlice(options.slice, tensor.shape());
  if (!slice.ok()) return slice.status();
  const TensorPart part(tensor, *std::move(slice), std::min(limit, options.max_values));
  msg::TensorT message;
  message.dtype = eventlog::TensorFlowNumber(tensor.type());
  message.shape = part.slice().shape;
  message.total = tensor.size();
  const TensorView::Statistics statistics = tensor.GetStatistics();
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const bool any = statistics.finite != 0;
  message.min = any ? statistics.min : kNone;
  message.max = any ? statistics.max : kNone;
  message.mean = any ? statistics.mean : kNone;
  message.not_finite = statistics.nan + statistics.positive_infinite + statistics.negative_infinite;
  if (options.statistics_only) return message;
  std::uint64_t answered = part.count();
  if (tensor.IsText()) {
    message.strings = part.Strings();
    answered = message.strings.size();
  } else if (IsAnsweredAsBytes(tensor.type())) {
    message.data = AsBytes(part.Bytes());
  } else {
    message.numbers = part.Numbers();
  }
  message.cut = answered < part.slice().size;
  return message;
}

std::size_t SizeOf(const msg::TensorT& tensor) {
  std::size_t size =
      kTableBytes + 8 * (tensor.shape.size() + tensor.numbers.size()) + tensor.data.size();
  for (const std::string& text : tensor.strings) size += text.size() + 8;
  return size;
}

absl::StatusOr<std::size_t> AppendTensor(const StoredValue& value, const ValueOptions& options,
                                         msg::ReadValuesReplyT* reply) {
  const auto tensor = eventlog::ReadTensor(value.kind, value.bytes);
  if (!tensor.ok()) return tensor.status();
  // Each element of a text tensor is a string; a slice may have to read all strings before it.
  if (tensor->IsText() && tensor->size() > kMaxTensorValues) {
    return absl::ResourceExhaustedError(absl::StrCat("a tensor of ", tensor->size(),
                                                     " strings; at most ", kMaxTensorValues,
                                                     " are shown, its bytes can be read"));
  }
  // A complex element has 16 bytes.
  const std::uint64_t limit = kMaxTensorValues / (eventlog::IsComplex(tensor->type()) ? 2 : 1);
  auto message = TensorMessage(*tensor, options, limit);
  if (!message.ok()) return message.status();
  message->step = value.step;
  message->wall_time = value.wall_time;
  const std::size_t size = SizeOf(*message);
  reply->tensors.push_back(std::make_unique<msg::TensorT>(*std::move(message)));
  return size;
}

absl::StatusOr<std::size_t> AppendHistogram(const StoredValue& value, const ValueOptions& options,
                                            msg::ReadValuesReplyT* reply) {
  auto histogram = eventlog::ReadHistogram(value.kind, value.bytes);
  if (!histogram.ok()) return histogram.status();
  if (options.python_histograms && value.kind == ValueKind::kHistogram) {
    histogram = eventlog::AsTensorBoardShowsIt(*histogram);
  }
  if (histogram->counts.size() > kMaxAnsweredBuckets) {
    return absl::ResourceExhaustedError(absl::StrCat("a histogram of ", histogram->counts.size(),
                                                     " buckets; at most ", kMaxAnsweredBuckets,
                                                     " are shown, its bytes can be read"));
  }
  msg::HistogramValueT message;
  message.step = value.step;
  message.wall_time = value.wall_time;
  message.min = histogram->min;
  message.max = histogram->max;
  message.sum = histogram->sum;
  message.count = histogram->count;
  message.nan_count = histogram->nan_count;
  message.pos_inf_count = histogram->positive_infinite_count;
  message.neg_inf_count = histogram->negative_infinite_count;
  const std::size_t size = kTableBytes + 24 * histogram->counts.size();
  message.lefts = std::move(histogram->lefts);
  message.rights = std::move(histogram->rights);
  message.counts = std::move(histogram->counts);
  reply->histograms.push_back(std::make_unique<msg::HistogramValueT>(std::move(message)));
  return size;
}

// Converts a caption, cut to kMaxCaptionBytes, which only a malicious file exceeds.
std::string Caption(std::string_view text) {
  return runtime::LossyUtf8(text.substr(0, kMaxCaptionBytes));
}

// Returns 0, which means unknown, for impossible sizes.
std::uint32_t Extent(std::int64_t size) {
  return size < 0 || size > 0xffffffff ? 0 : static_cast<std::uint32_t>(size);
}

msg::BlobT PlaceOf(const StoredValue& value) {
  msg::BlobT blob;
  blob.file = runtime::LossyUtf8(value.file);
  blob.offset = value.offset;
  blob.length = value.length;
  blob.crc = value.crc;
  blob.step = value.step;
  blob.wall_time = value.wall_time;
  return blob;
}

// `bytes` must be a part of the value's bytes.
msg::BlobT PlaceOf(const StoredValue& value, std::string_view bytes) {
  msg::BlobT blob = PlaceOf(value);
  // An empty part may point anywhere.
  if (!bytes.empty()) blob.offset += static_cast<std::uint64_t>(bytes.data() - value.bytes.data());
  blob.length = bytes.size();
  blob.crc = eventlog::Crc32c(bytes);
  return blob;
}

std::size_t AppendPlace(msg::BlobT blob, msg::ReadValuesReplyT* reply) {
  const std::size_t size =
      kTableBytes + blob.file.size() + blob.label.size() + blob.content_type.size();
  reply->blobs.push_back(std::make_unique<msg::BlobT>(std::move(blob)));
  return size;
}

absl::StatusOr<std::size_t> AppendBlobs(const StoredValue& value, const ValueOptions& options,
                                        msg::ReadValuesReplyT* reply) {
  const auto views = eventlog::ReadBlobs(value.kind, value.plugin, value.bytes);
  const bool shown = views.ok() && views->size() <= kMaxAnsweredBlobs;
  if (!shown && options.references) return AppendReference(value, reply);
  if (!views.ok()) return views.status();
  if (!shown) {
    return absl::ResourceExhaustedError(absl::StrCat("a value of ", views->size(),
                                                     " blobs; at most ", kMaxAnsweredBlobs,
                                                     " are listed, its bytes can be read"));
  }
  std::size_t size = 0;
  for (const eventlog::BlobView& view : *views) {
    msg::BlobT blob = PlaceOf(value, view.bytes);
    blob.label = Caption(view.label);
    blob.content_type = Caption(view.content_type);
    blob.width = Extent(view.width);
    blob.height = Extent(view.height);
    blob.channels = Extent(view.channels);
    blob.sample_rate = view.sample_rate;
    blob.frames = view.frames < 0 ? 0 : static_cast<std::uint64_t>(view.frames);
    size += AppendPlace(std::move(blob), reply);
  }
  return size;
}

// Converts one point: a number for each axis.
msg::TensorT ConvergenceMessage(const eventlog::Landscape::Points& point) {
  msg::TensorT message;
  for (const TensorView* axis : {&point.x, &point.y, &point.z}) {
    axis->AppendNumbers(0, 1, &message.numbers);
  }
  message.dtype = eventlog::TensorFlowNumber(NumberType::kFloat64);
  message.total = message.numbers.size();
  message.shape = {static_cast<std::int64_t>(message.total)};
  return message;
}

absl::StatusOr<std::size_t> AppendLandscape(const StoredValue& value, const ValueOptions& options,
                                            msg::ReadValuesReplyT* reply) {
  const auto landscape = eventlog::ReadLandscape(value.bytes);
  if (!landscape.ok()) return landscape.status();
  // A slice applies to one tensor's dimensions, but a landscape has nine tensors.
  ValueOptions whole = options;
  whole.slice.clear();
  std::size_t size = kTableBytes;
  const auto make = [&](const TensorView& view) {
    auto tensor = std::make_unique<msg::TensorT>(
        TensorMessage(view, whole, kMaxLandscapeValues).value_or(msg::TensorT()));
    size += SizeOf(*tensor);
    return tensor;
  };
  msg::LandscapeT message;
  message.step = value.step;
  message.wall_time = value.wall_time;
  message.x = make(landscape->surface.x);
  message.y = make(landscape->surface.y);
  message.z = make(landscape->surface.z);
  const auto intervals = std::min<std::size_t>(landscape->intervals.size(), kMaxLandscapeValues);
  message.intervals.assign(landscape->intervals.begin(),
                           landscape->intervals.begin() + static_cast<std::ptrdiff_t>(intervals));
  size += 8 * intervals;
  for (const TensorView* view : {&landscape->path.x, &landscape->path.y, &landscape->path.z}) {
    message.path.push_back(make(*view));
  }
  message.decomposition = Caption(landscape->decomposition);
  message.unit = Caption(landscape->unit);
  message.step_per_epoch = landscape->step_per_epoch;
  message.convergence = std::make_unique<msg::TensorT>(ConvergenceMessage(landscape->convergence));
  reply->landscapes.push_back(std::make_unique<msg::LandscapeT>(std::move(message)));
  return size;
}

}  // namespace

std::size_t AppendReference(const StoredValue& value, msg::ReadValuesReplyT* reply) {
  return AppendPlace(PlaceOf(value), reply);
}

bool NeedsBytes(const StoredValue& value, const ValueOptions& options) {
  const Form form = FormOf(value);
  return form == Form::kBlobs || (form != Form::kBytes && !options.references);
}

absl::StatusOr<std::size_t> AppendValue(const StoredValue& value, const ValueOptions& options,
                                        msg::ReadValuesReplyT* reply) {
  if (!NeedsBytes(value, options)) return AppendReference(value, reply);
  switch (FormOf(value)) {
    case Form::kBlobs:
      return AppendBlobs(value, options, reply);
    case Form::kHistogram:
      return AppendHistogram(value, options, reply);
    case Form::kLandscape:
      return AppendLandscape(value, options, reply);
    default:
      return AppendTensor(value, options, reply);
  }
}

}  // namespace datamanager
