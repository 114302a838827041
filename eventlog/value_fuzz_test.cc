// Feeds arbitrary bytes as every kind of value: each is read or refused, every view lies inside the
// bytes, and decoding a part agrees with decoding everything.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "eventlog/event.h"
#include "eventlog/hparams_content.h"
#include "eventlog/number_type.h"
#include "eventlog/tag_metadata.h"
#include "eventlog/tensor_view.h"
#include "eventlog/value_decoder.h"

namespace {

using eventlog::ValueKind;

void Must(bool condition) {
  if (!condition) abort();
}

void MustBeInside(std::string_view part, std::string_view whole) {
  // (The name of a media type is not in the bytes.)
  if (part.data() == nullptr || part.starts_with("image/") || part.starts_with("audio/")) return;
  const std::less_equal<const char*> not_after;
  Must(not_after(whole.data(), part.data()) &&
       not_after(part.data() + part.size(), whole.data() + whole.size()));
}

void Look(const eventlog::TensorView& tensor, std::string_view bytes) {
  constexpr std::uint64_t kSome = 64;
  const auto components = static_cast<std::uint64_t>(eventlog::ComponentsOf(tensor.type()));
  const std::uint64_t some = std::min(tensor.size(), kSome);
  std::vector<double> numbers, from_the_second;
  tensor.AppendNumbers(0, kSome, &numbers);
  tensor.AppendNumbers(1, kSome, &from_the_second);
  Must(numbers.size() == some * components);
  for (std::size_t i = components; i < numbers.size(); ++i) {
    const double number = from_the_second[i - components];
    Must(numbers[i] == number || (numbers[i] != numbers[i] && number != number));
  }
  std::string copy;
  tensor.AppendBytes(0, kSome, &copy);
  Must(copy.size() == some * components * eventlog::BytesOfComponent(tensor.type()));
  std::vector<std::string_view> strings;
  tensor.AppendStrings(0, kSome, &strings);
  Must(strings.size() == (tensor.IsText() ? some : 0));
  for (const std::string_view text : strings) MustBeInside(text, bytes);
  const auto statistics = tensor.GetStatistics();
  if (!tensor.IsText() && !eventlog::IsComplex(tensor.type())) {
    Must(statistics.finite + statistics.nan + statistics.positive_infinite +
             statistics.negative_infinite ==
         tensor.size());
  }
}

void Look(const eventlog::HistogramValue& histogram) {
  Must(histogram.lefts.size() == histogram.counts.size());
  Must(histogram.rights.size() == histogram.counts.size());
  const auto shown = eventlog::AsTensorBoardShowsIt(histogram);
  Must(shown.lefts.size() == shown.counts.size() && shown.rights.size() == shown.counts.size());
}

void ReadContents(std::string_view bytes) {
  if (const auto mesh = eventlog::ReadMeshContent(bytes); mesh.ok()) {
    MustBeInside(mesh->name, bytes);
    MustBeInside(mesh->json_config, bytes);
  }
  if (const auto hparams = eventlog::ReadHParamsContent(bytes); hparams.ok()) {
    MustBeInside(hparams->group_name, bytes);
  }
  if (const auto metadata = eventlog::ReadTaggedRunMetadata(bytes); metadata.ok()) {
    MustBeInside(metadata->run_metadata, bytes);
  }
  eventlog::SummaryValue value;
  value.metadata = bytes;
  eventlog::TagKind kind;
  eventlog::MergeTagKind(value, &kind);
  Must(kind.content.size() <= bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const ValueKind kind : {ValueKind::kNone, ValueKind::kTensor, ValueKind::kHistogram,
                               ValueKind::kImage, ValueKind::kAudio, ValueKind::kMindSporeImage,
                               ValueKind::kMindSporeTensor, ValueKind::kMindSporeHistogram}) {
    if (const auto tensor = eventlog::ReadTensor(kind, bytes); tensor.ok()) Look(*tensor, bytes);
    if (const auto histogram = eventlog::ReadHistogram(kind, bytes); histogram.ok()) {
      Look(*histogram);
    }
    for (const std::string_view plugin : {"images", "audio", "mine"}) {
      const auto blobs = eventlog::ReadBlobs(kind, plugin, bytes);
      if (!blobs.ok()) continue;
      for (const auto& blob : *blobs) {
        MustBeInside(blob.bytes, bytes);
        MustBeInside(blob.label, bytes);
        MustBeInside(blob.content_type, bytes);
      }
    }
  }
  if (const auto curve = eventlog::ReadPrCurve(bytes); curve.ok()) {
    Must(curve->recall.size() == curve->true_positives.size());
  }
  if (const auto landscape = eventlog::ReadLandscape(bytes); landscape.ok()) {
    Look(landscape->surface.x, bytes);
    Look(landscape->convergence.z, bytes);
  }
  ReadContents(bytes);
  return 0;
}
