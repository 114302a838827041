#ifndef DATAMANAGER_TENSORBOARD_PROVIDER_MESSAGES_H_
#define DATAMANAGER_TENSORBOARD_PROVIDER_MESSAGES_H_

// Reads and writes the messages of tensorboard.data.TensorBoardDataProvider
// (tensorboard/data/proto/data_provider.proto, as of 2021-03-08) field by field;
// docs/tensorboard.md lists the numbers. Only numbers and types are on the wire. Pure; any thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "datamanager/query/run_facts.h"
#include "datamanager/series/columns.h"
#include "eventlog/event.h"
#include "eventlog/hparams_content.h"

namespace datamanager::tensorboard {

// --- Requests ---

// A missing filter includes everything, an empty one nothing.
struct NameFilter {
  bool all = true;
  std::set<std::string, std::less<>> names;

  bool Includes(std::string_view name) const { return all || names.contains(name); }
};

// The request of all six methods that list or read series.
struct SeriesRequest {
  std::string plugin;
  NameFilter runs, tags;
  std::optional<std::int64_t> num_points;  // From downsample; null without it.
};

// Parse requests. InvalidArgument if the bytes are malformed. Unknown fields are skipped.
absl::StatusOr<SeriesRequest> ParseSeriesRequest(std::string_view bytes);
absl::StatusOr<std::string> ParseBlobKeyRequest(std::string_view bytes);
// Returns InvalidArgument if a required part of the request is missing.
absl::Status CheckSeriesRequest(const SeriesRequest& request, bool reads);

// --- Blob keys ---

// Identifies a blob by its place in the files rather than by numbers of this process, so that it
// stays valid in the next process: a key that TensorBoard still shows works as long as the file
// contains those bytes.
struct BlobKey {
  std::string run;
  std::string tag;
  std::string file;  // Base name; any bytes, like the tag.
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint32_t crc = 0;
  std::uint64_t index = 0;  // Index of the blob in its value.

  bool operator==(const BlobKey&) const = default;
};

// Encodes a key in characters that need no escape in a URL: [A-Za-z0-9_-].
std::string EncodeBlobKey(const BlobKey& key);
// Returns InvalidArgument if `text` is not a blob key.
absl::StatusOr<BlobKey> DecodeBlobKey(std::string_view text);

// --- Answers ---

std::string ExperimentMessage(std::string_view data_location);
std::string PluginsMessage(const std::set<std::string>& names);
struct RunEntry {
  std::string name;
  double start_time = 0;  // Seconds since 1970.
};
std::string RunsMessage(std::span<const RunEntry> runs);
std::string BlobMessage(std::string_view data);

// Facts about a series in the answer of a list.
struct SeriesInfo {
  std::int64_t max_step = 0;
  double max_wall_time = 0;
  std::optional<std::int64_t> max_length;  // For blob sequences only.
  std::string_view plugin;
  std::string_view content;
  std::string_view display_name;
  std::string_view description;
  eventlog::DataClass data_class = eventlog::DataClass::kUnknown;
};

// The values of a series other than scalars; the three lists are equally long.
struct SeriesValues {
  std::vector<std::int64_t> steps;
  std::vector<double> wall_times;
  // Encoded messages: a TensorProto, or the result of BlobSequence().
  std::vector<std::string> values;
};

std::string BlobSequence(std::span<const std::string> keys);

// An answer that lists or reads series, run by run.
class SeriesMessage {
 public:
  // Begins a run; a run without series is omitted from the answer.
  void BeginRun(std::string_view name);
  void AddInfo(std::string_view tag, const SeriesInfo& info);
  // `points` must be a PointsMessage().
  void AddPoints(std::string_view tag, const std::string& points) { AddTag(tag, points); }
  void AddValues(std::string_view tag, const SeriesValues& values);

  // Bytes added so far.
  std::size_t size() const { return message_.size() + run_.size(); }
  std::string Take() &&;

 private:
  void AddTag(std::string_view tag, const std::string& entry);
  void EndRun();

  std::string message_;
  std::string run_;  // The current run's entry.
  bool has_tags_ = false;
};

// Encodes ScalarData of these points.
std::string PointsMessage(std::span<const Point> points);

// --- Values ---

// Returns a float TensorProto of shape [0], which represents a value that has only metadata.
std::string EmptyTensor();
// Encodes a TensorProto of these little-endian elements. `type` is TensorFlow's number.
std::string TensorMessage(std::int32_t type, std::span<const std::int64_t> shape,
                          std::string_view content);

// Encodes SummaryMetadata.plugin_data.content of the plugin "hparams" for the start of a session
// with these hyperparameters. `start_time`: seconds since 1970.
std::string SessionStartContent(std::span<const ConfigFacts> hparams, std::string_view group,
                                double start_time);
// Encodes the same content for the end of a session. `end_time`: seconds since 1970.
std::string SessionEndContent(eventlog::HParamsContent::Status status, double end_time);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_PROVIDER_MESSAGES_H_
