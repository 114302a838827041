#include "datamanager/tensorboard/shown_values.h"

#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "datamanager/series/value_series.h"
#include "datamanager/tensorboard/mindspore_graph.h"
#include "datamanager/tensorboard/provider_messages.h"
#include "eventlog/number_type.h"
#include "eventlog/tensor_view.h"
#include "eventlog/value_decoder.h"

static_assert(std::endian::native == std::endian::little, "tensors are written as they are");

namespace datamanager::tensorboard {
namespace {

using eventlog::DataClass;
using eventlog::EventKind;
using eventlog::NumberType;
using eventlog::ValueKind;

// ImagePluginData and AudioPluginData as Python sets them for old values: converted_to_tensor, and
// the encoding WAV for old sounds.
constexpr std::string_view kOldImageContent = "\x10\x01";
constexpr std::string_view kOldAudioContent = "\x10\x0b\x18\x01";

ValueKind KindOf(std::uint8_t form) { return ValueKindOf(form).value_or(ValueKind::kNone); }

// Returns the kind of the tag's first value; kNone if its place is not known.
ValueKind FirstKind(const RunData::Tag& tag) {
  if (tag.values == nullptr || tag.values->places.size() == 0) return ValueKind::kNone;
  return KindOf(tag.values->places.all().front().form);
}

template <typename Number>
std::string HistogramTensor(const eventlog::HistogramValue& histogram, NumberType type) {
  std::string content;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    const std::array row = {static_cast<Number>(histogram.lefts[i]),
                            static_cast<Number>(histogram.rights[i]),
                            static_cast<Number>(histogram.counts[i])};
    content.append(reinterpret_cast<const char*>(row.data()), sizeof row);
  }
  const std::int64_t shape[] = {static_cast<std::int64_t>(histogram.counts.size()), 3};
  return TensorMessage(eventlog::TensorFlowNumber(type), shape, content);
}

bool IsImage(ValueKind kind, std::string_view plugin) {
  return kind == ValueKind::kImage || kind == ValueKind::kMindSporeImage || plugin == "images";
}

}  // namespace

std::string_view ShownPlugin(const RunData::Tag& tag, bool mindspore) {
  const std::string_view plugin = tag.plugin();
  if (!mindspore) return plugin;
  if (plugin == "scalar") return "scalars";
  if (plugin == "image") return "images";
  if (plugin == "histogram") return "histograms";
  if (plugin == "graph") return "graphs";
  return plugin;
}

DataClass ShownClass(const RunData::Tag& tag) {
  if (tag.summary.points > 0) return DataClass::kScalar;
  if (tag.values == nullptr || FirstKind(tag) == ValueKind::kLandscape) return DataClass::kUnknown;
  const DataClass data_class = tag.kind->data_class;
  return data_class == DataClass::kTensor || data_class == DataClass::kBlobSequence
             ? data_class
             : DataClass::kUnknown;
}

std::string_view ShownContent(const RunData::Tag& tag) {
  if (!tag.kind->content.empty()) return tag.kind->content;
  switch (FirstKind(tag)) {
    case ValueKind::kImage:
    case ValueKind::kMindSporeImage:
      return kOldImageContent;
    case ValueKind::kAudio:
      return kOldAudioContent;
    default:
      return {};
  }
}

std::string_view ShownDisplayName(const RunData::Tag& tag, std::string_view name) {
  if (!tag.kind->display_name.empty()) return tag.kind->display_name;
  return tag.kind->implied ? name : std::string_view();
}

absl::StatusOr<std::string> TensorOf(std::uint8_t form, std::string_view bytes) {
  const ValueKind kind = KindOf(form);
  switch (kind) {
    case ValueKind::kTensor:
      return std::string(bytes);
    case ValueKind::kNone:
      if (bytes.empty()) return EmptyTensor();
      return absl::InvalidArgumentError("an event is no tensor");
    case ValueKind::kHistogram:
    case ValueKind::kMindSporeHistogram: {
      const auto histogram = eventlog::ReadHistogram(kind, bytes);
      if (!histogram.ok()) return histogram.status();
      if (kind == ValueKind::kMindSporeHistogram) {
        return HistogramTensor<double>(*histogram, NumberType::kFloat64);
      }
      return HistogramTensor<float>(eventlog::AsTensorBoardShowsIt(*histogram),
                                    NumberType::kFloat32);
    }
    case ValueKind::kMindSporeTensor: {
      const auto tensor = eventlog::ReadTensor(kind, bytes);
      if (!tensor.ok()) return tensor.status();
      std::string content;
      tensor->AppendBytes(0, tensor->size(), &content);
      return TensorMessage(eventlog::TensorFlowNumber(tensor->type()), tensor->shape(), content);
    }
    default:
      return absl::InvalidArgumentError("a value of this kind is no tensor");
  }
}

absl::StatusOr<std::size_t> BlobCount(std::uint8_t form, std::string_view plugin,
                                      std::string_view bytes) {
  if (EventKindOf(form).has_value()) return 1;
  return eventlog::CountBlobs(KindOf(form), plugin, bytes);
}

absl::StatusOr<std::string> BlobAt(std::uint8_t form, std::string_view plugin,
                                   std::string_view bytes, std::uint64_t index) {
  const auto none = [&] {
    return absl::NotFoundError(absl::StrCat("the value has no blob ", index));
  };
  if (const auto event = EventKindOf(form); event.has_value()) {
    if (index > 0) return none();
    if (*event == EventKind::kMindSporeGraph) return GraphDefOf(bytes);
    if (*event != EventKind::kRunMetadata) return std::string(bytes);
    const auto metadata = eventlog::ReadTaggedRunMetadata(bytes);
    if (!metadata.ok()) return metadata.status();
    return std::string(metadata->run_metadata);
  }
  const ValueKind kind = KindOf(form);
  const auto blobs = eventlog::ReadBlobs(kind, plugin, bytes);
  if (!blobs.ok()) return blobs.status();
  if (IsImage(kind, plugin)) {
    const eventlog::BlobView size = blobs->empty() ? eventlog::BlobView() : blobs->front();
    if (index == 0) return absl::StrCat(size.width);
    if (index == 1) return absl::StrCat(size.height);
    index -= 2;
  }
  if (index >= blobs->size()) return none();
  return std::string((*blobs)[index].bytes);
}

}  // namespace datamanager::tensorboard
