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

// Decodes the content of a kept value on request: from its kind and its bytes, as DecodeEvent() and
// DecodeMindSporeEvent() returned them and a file contains them. Old and new style, TensorBoard's
// and MindSpore's, give the same form. Pure functions; any thread. Views point into the bytes.
// InvalidArgument says which message is malformed.
//
// Follows TensorBoard's data_compat.py and its Rust server, which convert old values to new ones;
// docs/event_files.md says what we do where the two disagree.

// Returns the value as a tensor: for kTensor and kMindSporeTensor; a value of kind kNone is empty.
absl::StatusOr<TensorView> ReadTensor(ValueKind kind, std::string_view bytes);

// Buckets from left to right: from kHistogram, kMindSporeHistogram, or a tensor [k, 3] of left
// edge, right edge and count.
struct HistogramValue {
  std::vector<double> lefts;  // As many as `rights` and `counts`.
  std::vector<double> rights;
  std::vector<double> counts;
  // Statistics of the counted numbers. A tensor has no limits and sums: `min` and `max` are then
  // the outer edges of its non-empty buckets, and the sums are NaN.
  double min = 0;
  double max = 0;
  double sum = 0;
  double sum_squares = 0;  // NaN for MindSpore, too.
  double count = 0;
  // Numbers outside the buckets, which only MindSpore counts.
  std::uint64_t nan_count = 0;
  std::uint64_t positive_infinite_count = 0;
  std::uint64_t negative_infinite_count = 0;
};
inline constexpr std::size_t kMaxBuckets = std::size_t{1} << 20;

// Returns every bucket unchanged, except that reversed edges are exchanged. The old style has only
// right edges: the first bucket then begins at the minimum and the last ends at the maximum, unless
// that would reverse it; an edge before its left neighbour is set to that one; limits without a
// bucket are ignored.
absl::StatusOr<HistogramValue> ReadHistogram(ValueKind kind, std::string_view bytes);
// Returns an old-style histogram as TensorBoard in Python shows it: without the empty buckets at
// both ends, from the minimum to the maximum, in floats.
HistogramValue AsTensorBoardShowsIt(const HistogramValue& histogram);

// Bytes that another program can show: an image, a sound, a graph.
struct BlobView {
  std::string_view bytes;
  std::string_view label;         // Label of a sound; Markdown.
  std::string_view content_type;  // "image/png"; empty: unknown.
  std::int64_t width = 0;         // 0: unknown, like the fields below.
  std::int64_t height = 0;
  std::int64_t channels = 0;
  std::int64_t frames = 0;
  double sample_rate = 0;  // Hz.
};
inline constexpr std::size_t kMaxBlobs = 100'000;

// Returns the blobs of a value: one for kImage, kAudio and kMindSporeImage. For a tensor of strings
// it depends on the plugin: "images" has width, height, and then the images; "audio" has sounds,
// with their labels in a second column; for any other plugin each string is a blob.
absl::StatusOr<std::vector<BlobView>> ReadBlobs(ValueKind kind, std::string_view plugin,
                                                std::string_view bytes);
// Returns the number of blobs as TensorBoard counts them: two more for images, because their width
// and height come first, as text.
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
  std::string_view name;  // The mesh of which this tag is a part.
  Type type = Type::kUndefined;
  std::string_view json_config;
  std::vector<std::int64_t> shape;
  std::uint32_t components = 0;  // A bit (1 << type) for each part of the mesh.
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
