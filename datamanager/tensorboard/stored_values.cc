#include "datamanager/tensorboard/stored_values.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "datamanager/read/file_bytes.h"
#include "datamanager/read/run_data.h"
#include "datamanager/series/value_series.h"
#include "datamanager/tensorboard/point_choice.h"
#include "datamanager/tensorboard/shown_values.h"
#include "datamanager/tensorboard/trial_hparams.h"
#include "runtime/text/utf8.h"

namespace datamanager::tensorboard {
namespace {

using eventlog::DataClass;
using View = RunSource::View;

constexpr std::size_t kChunk = std::size_t{8} << 20;  // Limit of a blob's bytes in one message.

// A series whose values are in files, with all that is needed to read them without the run's lock.
struct StoredSeries {
  std::string tag;  // Any bytes.
  std::string plugin;
  std::string directory;
  std::vector<std::string> files;
  std::vector<ValuePlace> places;  // Ordered by step.
};

StoredSeries Store(const View& view, RunData::TagId id, const RunData::Tag& tag, Overlap overlap) {
  StoredSeries series;
  series.tag = std::string(view.data.tag_name(id));
  series.plugin = std::string(tag.plugin());
  series.directory = view.listed.directory;
  for (const RunFileData& file : view.data.files()) series.files.push_back(file.listed.name);
  series.places = tag.values->places.Select(view.data.ValueMarks(id), overlap,
                                            std::numeric_limits<std::int64_t>::min(),
                                            std::numeric_limits<std::int64_t>::max());
  return series;
}

// Chooses values; fewer than wanted, or none, if they would not fit in `room` bytes.
std::vector<std::size_t> Choose(const StoredSeries& series, std::uint64_t wanted,
                                DataClass data_class, std::uint64_t room) {
  for (std::uint64_t limit = std::min<std::uint64_t>(wanted, series.places.size());;
       limit = limit / 2) {
    std::vector<std::size_t> chosen = ChooseEvenly(series.places.size(), limit);
    std::uint64_t bytes = 0;
    for (const std::size_t place : chosen) {
      // An old-style histogram grows by less than half; a blob is represented by a key of 200
      // bytes.
      bytes += data_class == DataClass::kTensor ? series.places[place].length * 3 / 2 + 64 : 800;
    }
    if (bytes <= room) return chosen;
    if (limit <= 1) return {};
  }
}

absl::StatusOr<std::string> ReadValue(const RunCatalog& catalog, const std::string& directory,
                                      const std::string& file, const ValuePlace& place) {
  if (place.length == 0) return std::string();
  return ReadFileRange(absl::StrCat(directory, "/", file),
                       {.offset = place.offset, .length = place.length, .crc = place.crc},
                       catalog.open_files());
}

absl::StatusOr<std::string> BlobKeys(const std::string& run, const StoredSeries& series,
                                     const ValuePlace& place, std::string_view bytes) {
  const auto count = BlobCount(place.form, series.plugin, bytes);
  if (!count.ok()) return count.status();
  BlobKey key = {.run = run,
                 .tag = series.tag,
                 .file = series.files[place.file],
                 .offset = place.offset,
                 .length = place.length,
                 .crc = place.crc,
                 .index = 0};
  std::vector<std::string> keys;
  for (; key.index < *count; ++key.index) keys.push_back(EncodeBlobKey(key));
  return BlobSequence(keys);
}

absl::StatusOr<std::string> FindBlob(const RunAccess& access, const BlobKey& key) {
  std::optional<ValuePlace> found;
  std::string directory, plugin;
  access.ReadAll(key.run, access.ReadDeadline(), [&](const View& view) {
    const auto id = view.data.FindTag(key.tag);
    if (!id.has_value() || view.data.tag(*id).values == nullptr) return;
    for (const ValuePlace& place : view.data.tag(*id).values->places.all()) {
      if (place.offset == key.offset && place.length == key.length && place.crc == key.crc &&
          view.data.file(place.file).listed.name == key.file) {
        found = place;
      }
    }
    directory = view.listed.directory;
    plugin = std::string(view.data.tag(*id).plugin());
  });
  if (!found.has_value()) return absl::NotFoundError("this blob is not there any more");
  const auto bytes = ReadValue(access.catalog(), directory, key.file, *found);
  if (absl::IsDataLoss(bytes.status())) return absl::NotFoundError(bytes.status().message());
  if (!bytes.ok()) return bytes.status();
  return BlobAt(found->form, plugin, *bytes, key.index);
}

}  // namespace

void StoredValues::AddRun(const std::string& run, const SeriesRequest& request,
                          DataClass data_class, std::uint64_t wanted, absl::Duration deadline,
                          SeriesMessage* answer) const {
  TrialHParams trial;
  std::vector<StoredSeries> all;
  options_.access->ReadAll(run, deadline, [&](const View& view) {
    trial = TrialHParams(view, request, data_class);
    ForEachTag(view, request, data_class, [&](RunData::TagId id, const RunData::Tag& tag) {
      all.push_back(Store(view, id, tag, options_.overlap));
    });
  });
  for (const StoredSeries& series : all) {
    const std::uint64_t room =
        options_.most_bytes - std::min<std::uint64_t>(options_.most_bytes, answer->size());
    SeriesValues values;
    for (const std::size_t i : Choose(series, wanted, data_class, room)) {
      const ValuePlace& place = series.places[i];
      const auto bytes =
          ReadValue(options_.access->catalog(), series.directory, series.files[place.file], place);
      if (!bytes.ok()) continue;
      auto value = data_class == DataClass::kTensor ? TensorOf(place.form, *bytes)
                                                    : BlobKeys(run, series, place, *bytes);
      // The file may have lost the value, or never had it.
      if (!value.ok()) continue;
      values.steps.push_back(place.step);
      values.wall_times.push_back(place.wall_time);
      values.values.push_back(*std::move(value));
    }
    answer->AddValues(runtime::LossyUtf8(series.tag), values);
  }
  trial.AddTo(options_.access->catalog(), run, request, answer);
}

GrpcAnswer StoredValues::ReadBlob(std::string_view message) const {
  const auto text = ParseBlobKeyRequest(message);
  if (!text.ok()) return {text.status(), {}};
  const auto key = DecodeBlobKey(*text);
  if (!key.ok()) return {key.status(), {}};
  const auto blob = FindBlob(*options_.access, *key);
  if (!blob.ok()) return {blob.status(), {}};
  GrpcAnswer answer;
  for (std::size_t at = 0; at == 0 || at < blob->size(); at += kChunk) {
    AppendFrame(BlobMessage(std::string_view(*blob).substr(at, kChunk)), &answer.frames);
  }
  return answer;
}

}  // namespace datamanager::tensorboard
