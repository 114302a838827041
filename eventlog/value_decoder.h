#ifndef EVENTLOG_VALUE_DECODER_H_
#define EVENTLOG_VALUE_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "eventlog/event.h"
#include "eventlog/tensor_view.h"

namespace eventlog {

// Content of a kept value, decoded when somebody asks to see it: from its kind and its bytes, as
// DecodeEvent() and DecodeMindSporeEvent() gave them and a file gives them again. Old and new
// style, TensorBoard's and MindSpore's, come out alike. Pure functions; any thread. Views point
// into the bytes. InvalidArgument says which message the bytes are not.
//
// As TensorBoard's data_compat.py and its Rust server make new values from old ones; where those
// two disagree, docs/event_files.md says what we do.

// The value as a tensor: of kind kTensor and kMindSporeTensor; a value of kind kNone is empty.
absl::StatusOr<TensorView> ReadTensor(ValueKind kind, std::string_view bytes);

// Buckets from left to right: kHistogram, kMindSporeHistogram, or a tensor [k, 3] of left edge,
// right edge and count.
struct HistogramValue {
  std::vector<double> lefts;  // As many as `rights` and `counts`.
  std::vector<double> rights;
  std::vector<double> counts;
  // Statistics of the numbers that were counted. A tensor has no limits and sums: then `min` and
  // `max` are the outer edges of its buckets that are not empty, and the sums are NaN.
  double min = 0;
  double max = 0;
  double sum = 0;
  double sum_squares = 0;  // NaN also for MindSpore.
  double count = 0;
  // Beside the buckets; MindSpore alone counts them.
  std::uint64_t nan_count = 0;
  std::uint64_t positive_infinite_count = 0;
  std::uint64_t negative_infinite_count = 0;
};
inline constexpr std::size_t kMaxBuckets = std::size_t{1} << 20;

// Every bucket as it is written, but none runs backwards: edges that do are exchanged. The old
// style has right edges alone: the first bucket begins at the minimum and the last ends at the
// maximum, unless that would turn it around; an edge that is before the one to its left counts as
// that; and limits that no bucket belongs to are passed over.
absl::StatusOr<HistogramValue> ReadHistogram(ValueKind kind, std::string_view bytes);
// A histogram of the old style as TensorBoard in Python shows it: without the empty buckets at both
// ends, from the minimum to the maximum, in floats.
HistogramValue AsTensorBoardShowsIt(const HistogramValue& histogram);

// Bytes that another program can show: an image, a sound, a graph.
struct BlobView {
  std::string_view bytes;
  std::string_view label;         // Label of a sound; Markdown.
  std::string_view content_type;  // "image/png"; empty: nobody knows.
  std::int64_t width = 0;         // 0: not known, as everything below.
  std::int64_t height = 0;
  std::int64_t channels = 0;
  std::int64_t frames = 0;
  double sample_rate = 0;  // Hz.
};
inline constexpr std::size_t kMaxBlobs = 100'000;

// kImage, kAudio, kMindSporeImage: one. A tensor of strings: as its plugin has it ("images": width,
// height, and then the images; "audio": sounds, with their labels in a second column), of any other
// plugin each string.
absl::StatusOr<std::vector<BlobView>> ReadBlobs(ValueKind kind, std::string_view plugin,
                                                std::string_view bytes);
// How many there are as TensorBoard counts them: of images two more, as their width and height come
// first, as text.
absl::StatusOr<std::size_t> CountBlobs(ValueKind kind, std::string_view plugin,
                                       std::string_view bytes);

// A tensor [6, thresholds] of the plugin "pr_curves".
struct PrCurve {
  std::vector<double> true_positives;
  std::vector<double> false_positives;
  std::vector<double> true_negatives;
  std::vector<double> false_negatives;
  std::vector<double> precision;
  std::vector<double> recall;
};
inline constexpr std::uint64_t kMaxThresholds = std::uint64_t{1} << 20;
absl::StatusOr<PrCurve> ReadPrCurve(std::string_view tensor);

// SummaryMetadata.plugin_data.content of a tag of the plugin "mesh".
struct MeshContent {
  enum class Type : std::int32_t { kUndefined = 0, kVertex = 1, kFace = 2, kColor = 3 };
  std::string_view name;  // The mesh that this tag is a part of.
  Type type = Type::kUndefined;
  std::string_view json_config;
  std::vector<std::int64_t> shape;
  std::uint32_t components = 0;  // A bit (1 << type) for each part the mesh has.
};
absl::StatusOr<MeshContent> ReadMeshContent(std::string_view content);

// The loss around the path of a training (MindSpore).
struct Landscape {
  struct Points {
    TensorView x, y, z;
  };
  Points surface;
  std::vector<std::int64_t> intervals;  // Epochs or steps of the path.
  Points path;
  std::string_view decomposition;
  std::string_view unit;  // Unit of the intervals: "epoch" or "step".
  std::int64_t step_per_epoch = 0;
  Points convergence;
};
absl::StatusOr<Landscape> ReadLandscape(std::string_view bytes);

// An event of kind kRunMetadata: the tag, and a serialized tensorflow.RunMetadata.
struct TaggedRunMetadata {
  std::string_view tag;
  std::string_view run_metadata;
};
absl::StatusOr<TaggedRunMetadata> ReadTaggedRunMetadata(std::string_view bytes);

}  // namespace eventlog

#endif  // EVENTLOG_VALUE_DECODER_H_
