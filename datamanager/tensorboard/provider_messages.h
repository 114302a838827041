#ifndef DATAMANAGER_TENSORBOARD_PROVIDER_MESSAGES_H_
#define DATAMANAGER_TENSORBOARD_PROVIDER_MESSAGES_H_

// The messages of tensorboard.data.TensorBoardDataProvider
// (tensorboard/data/proto/data_provider.proto, as of 2021-03-08), read and written field by field;
// docs/tensorboard.md has the numbers. Only numbers and types are on the wire. Pure; any thread.

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

// A filter that is not there lets everything pass, an empty one nothing.
struct NameFilter {
  bool all = true;
  std::set<std::string, std::less<>> names;

  bool Includes(std::string_view name) const { return all || names.contains(name); }
};

// The request of all six methods that list or read series.
struct SeriesRequest {
  std::string plugin;
  NameFilter runs, tags;
  std::optional<std::int64_t> num_points;  // From downsample; nothing without a downsample.
};

// InvalidArgument: the bytes are no such message. Unknown fields are skipped.
absl::StatusOr<SeriesRequest> ParseSeriesRequest(std::string_view bytes);
absl::StatusOr<std::string> ParseBlobKeyRequest(std::string_view bytes);
// InvalidArgument: a request without what it must have.
absl::Status CheckSeriesRequest(const SeriesRequest& request, bool reads);

// --- Blob keys ---

// Names a blob by its place in the files, not by numbers of this process, so that it means the same
// to the next process. A key that TensorBoard still shows is good as long as those bytes are in the
// file.
struct BlobKey {
  std::string run;
  std::string tag;
  std::string file;  // Base name; any bytes, as the tag.
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint32_t crc = 0;
  std::uint64_t index = 0;  // Index of the blob in its value.

  bool operator==(const BlobKey&) const = default;
};

// Writes a key in characters that need no escape in a URL: [A-Za-z0-9_-].
std::string EncodeBlobKey(const BlobKey& key);
// InvalidArgument: `text` is no blob key.
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
  std::optional<std::int64_t> max_length;  // Only of blob sequences.
  std::string_view plugin;
  std::string_view content;
  std::string_view display_name;
  std::string_view description;
  eventlog::DataClass data_class = eventlog::DataClass::kUnknown;
};

// The values of a series that is no scalar; the three are equally long.
struct SeriesValues {
  std::vector<std::int64_t> steps;
  std::vector<double> wall_times;
  // Messages: a TensorProto, or what BlobSequence() makes.
  std::vector<std::string> values;
};

std::string BlobSequence(std::span<const std::string> keys);

// An answer that lists or reads series, run by run.
class SeriesMessage {
 public:
  // A run without an added series is not in the answer.
  void BeginRun(std::string_view name);
  void AddInfo(std::string_view tag, const SeriesInfo& info);
  // `points` is a PointsMessage().
  void AddPoints(std::string_view tag, const std::string& points) { AddTag(tag, points); }
  void AddValues(std::string_view tag, const SeriesValues& values);

  // Bytes added so far.
  std::size_t size() const { return message_.size() + run_.size(); }
  std::string Take() &&;

 private:
  void AddTag(std::string_view tag, const std::string& entry);
  void EndRun();

  std::string message_;
  std::string run_;  // The entry of the run.
  bool has_tags_ = false;
};

// ScalarData of these points.
std::string PointsMessage(std::span<const Point> points);

// --- Values ---

// A float TensorProto of shape [0], which stands for a value with metadata alone.
std::string EmptyTensor();
// A TensorProto of these elements, little-endian. `type` is TensorFlow's number.
std::string TensorMessage(std::int32_t type, std::span<const std::int64_t> shape,
                          std::string_view content);

// SummaryMetadata.plugin_data.content of the plugin "hparams" that says that a session with these
// hyperparameters has started. `start_time`: seconds since 1970.
std::string SessionStartContent(std::span<const ConfigFacts> hparams, std::string_view group,
                                double start_time);
// The same content that says that the session has ended. `end_time`: seconds since 1970.
std::string SessionEndContent(eventlog::HParamsContent::Status status, double end_time);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_PROVIDER_MESSAGES_H_
