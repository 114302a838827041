#include "datamanager/tensorboard/provider.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/brief/run_config.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/read/file_bytes.h"
#include "datamanager/read/run_data.h"
#include "datamanager/series/columns.h"
#include "datamanager/series/scalar_columns.h"
#include "datamanager/series/value_series.h"
#include "datamanager/tensorboard/point_choice.h"
#include "datamanager/tensorboard/provider_messages.h"
#include "datamanager/tensorboard/shown_values.h"
#include "eventlog/event.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

// A run is looked at under its lock, one at a time; bytes of values are read from files without it.
// Names of tags are any bytes in the catalog and UTF-8 in a message: what is compared with a filter
// is what a list has said.

namespace datamanager::tensorboard {
namespace {

using eventlog::DataClass;
using Need = RunSource::Need;
using View = RunSource::View;

constexpr std::string_view kService = "/tensorboard.data.TensorBoardDataProvider/";
constexpr std::size_t kChunk = std::size_t{8} << 20;           // Of a blob.
constexpr std::uint64_t kMostBytes = std::uint64_t{60} << 20;  // Of values in an answer.
constexpr std::uint64_t kPointsAtOnce = 8192;
// Values that are looked into for the largest number of blobs, of those that are new.
constexpr std::size_t kMostCounted = 64;
constexpr std::size_t kMostCounts = 100'000;

enum class Method {
  kUnknown,
  kGetExperiment,
  kListPlugins,
  kListRuns,
  kListScalars,
  kReadScalars,
  kListTensors,
  kReadTensors,
  kListBlobSequences,
  kReadBlobSequences,
  kReadBlob,
};

Method MethodOf(std::string_view path) {
  static const std::map<std::string_view, Method> kMethods = {
      {"GetExperiment", Method::kGetExperiment},
      {"ListPlugins", Method::kListPlugins},
      {"ListRuns", Method::kListRuns},
      {"ListScalars", Method::kListScalars},
      {"ReadScalars", Method::kReadScalars},
      {"ListTensors", Method::kListTensors},
      {"ReadTensors", Method::kReadTensors},
      {"ListBlobSequences", Method::kListBlobSequences},
      {"ReadBlobSequences", Method::kReadBlobSequences},
      {"ReadBlob", Method::kReadBlob},
  };
  if (!path.starts_with(kService)) return Method::kUnknown;
  const auto found = kMethods.find(path.substr(kService.size()));
  return found == kMethods.end() ? Method::kUnknown : found->second;
}

bool Reads(Method method) {
  return method == Method::kReadScalars || method == Method::kReadTensors ||
         method == Method::kReadBlobSequences;
}

DataClass ClassOf(Method method) {
  switch (method) {
    case Method::kListScalars:
    case Method::kReadScalars:
      return DataClass::kScalar;
    case Method::kListTensors:
    case Method::kReadTensors:
      return DataClass::kTensor;
    default:
      return DataClass::kBlobSequence;
  }
}

GrpcAnswer Message(std::string_view message) {
  GrpcAnswer answer;
  AppendFrame(message, &answer.frames);
  return answer;
}

bool HasMindSpore(const ListedRun& run) {
  return std::any_of(run.files.begin(), run.files.end(),
                     [](const ListedFile& file) { return file.kind == FileKind::kMindSpore; });
}

// A series whose values are in files, and what is needed to read them without the run's lock.
struct StoredSeries {
  std::string tag;  // Any bytes.
  std::string plugin;
  std::string directory;
  std::vector<std::string> files;
  std::vector<ValuePlace> places;  // In the order of steps.
};

// The number of blobs in the values of a tag that were looked into.
struct BlobLengths {
  std::uint64_t generation = 0;
  std::size_t seen = 0;  // Values.
  std::size_t most = 0;
};

class RealProvider : public Provider {
 public:
  explicit RealProvider(Options options) : options_(std::move(options)) {}

  GrpcAnswer Answer(std::string_view path, std::string_view message) override {
    const Method method = MethodOf(path);
    switch (method) {
      case Method::kUnknown:
        return {absl::UnimplementedError(absl::StrCat("no method ", runtime::Absl(path))), {}};
      case Method::kGetExperiment:
        return Message(ExperimentMessage(options_.logdir));
      case Method::kListPlugins:
        return ListPlugins();
      case Method::kListRuns:
        return ListRuns();
      case Method::kReadBlob:
        return ReadBlob(message);
      default:
        return AnswerSeries(method, message);
    }
  }

  void Scanned() override {
    runtime::MutexLock lock(mutex_);
    scanned_ = true;
    scan_ended_.SignalAll();
  }

 private:
  struct Run {
    std::string name;
    double start_time = 0;
  };
  struct Trial {
    bool shown = false;
    double start_time = 0;
  };

  void AwaitScan() {
    runtime::MutexLock lock(mutex_);
    runtime::Clock* const clock = runtime::Clock::Real();
    const absl::Duration deadline = clock->Monotonic() + options_.list_patience;
    while (!scanned_) {
      if (!clock->WaitUntil(scan_ended_, mutex_, deadline)) return;
    }
  }

  // Those that have something, the oldest first: the order of their colours.
  std::vector<Run> Runs() {
    AwaitScan();
    std::vector<Run> runs;
    for (const RunCatalog::RunInfo& info : options_.catalog->Runs()) {
      if (!std::isnan(info.start_time)) runs.push_back({info.listed->name, info.start_time});
    }
    std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
      return std::tie(a.start_time, a.name) < std::tie(b.start_time, b.name);
    });
    return runs;
  }

  std::vector<std::string> RunsOf(const NameFilter& filter) {
    std::vector<std::string> names;
    for (Run& run : Runs()) {
      if (filter.Wants(run.name)) names.push_back(std::move(run.name));
    }
    return names;
  }

  // With what is known of the run now; not at all if that is nothing.
  void LookNow(const std::string& run, const std::function<void(const View&)>& use) {
    (void)options_.catalog->Look({.run = run, .need = Need::kCounts, .take_part = true},
                                 [&](const View& view) {
                                   use(view);
                                   return absl::OkStatus();
                                 });
  }

  // With all points of the run; with those there are, if it takes longer.
  void LookWhole(const std::string& run, absl::Duration deadline,
                 const std::function<void(const View&)>& use) {
    const auto once = [&](const View& view) {
      use(view);
      return absl::OkStatus();
    };
    const absl::Duration left =
        std::max(deadline - options_.catalog->Monotonic(), absl::ZeroDuration());
    const absl::Status looked = options_.catalog->LookWithin(
        left, {.run = run, .need = Need::kPoints, .whole = true}, once);
    if (!absl::IsDeadlineExceeded(looked) && !absl::IsUnavailable(looked)) return;
    (void)options_.catalog->Look({.run = run, .need = Need::kPoints}, once);
  }

  absl::Duration Deadline() const { return options_.catalog->Monotonic() + options_.read_patience; }

  GrpcAnswer ListRuns() {
    std::vector<RunRow> rows;
    for (Run& run : Runs()) rows.push_back({std::move(run.name), run.start_time});
    return Message(RunsMessage(rows));
  }

  GrpcAnswer ListPlugins() {
    std::set<std::string> names;
    for (const Run& run : Runs()) {
      LookNow(run.name, [&](const View& view) {
        const bool mindspore = HasMindSpore(view.listed);
        for (const RunData::TagId id : view.data.TagsByName()) {
          const RunData::Tag& tag = view.data.tag(id);
          if (ShownClass(tag) == DataClass::kUnknown) continue;
          names.insert(runtime::LossyUtf8(ShownPlugin(tag, mindspore)));
        }
      });
      if (ConfigOf(run.name) != nullptr) names.insert("hparams");
    }
    names.erase("");
    return Message(PluginsMessage(names));
  }

  GrpcAnswer AnswerSeries(Method method, std::string_view message) {
    auto request = ParseSeriesRequest(message);
    if (!request.ok()) return {request.status(), {}};
    if (absl::Status good = CheckSeriesRequest(*request, Reads(method)); !good.ok()) {
      return {good, {}};
    }
    SeriesMessage answer;
    const std::vector<std::string> runs = RunsOf(request->runs);
    if (!Reads(method)) {
      for (const std::string& run : runs) ListRun(run, *request, ClassOf(method), &answer);
    } else if (method == Method::kReadScalars) {
      ReadScalars(runs, *request, &answer);
    } else {
      ReadStored(runs, *request, ClassOf(method), &answer);
    }
    return Message(std::move(answer).Take());
  }

  // Calls `use` with each tag that the request is about, in the order of their names.
  static void ForEachTag(const View& view, const SeriesRequest& request, DataClass data_class,
                         const std::function<void(RunData::TagId, const RunData::Tag&)>& use) {
    const bool mindspore = HasMindSpore(view.listed);
    for (const RunData::TagId id : view.data.TagsByName()) {
      const RunData::Tag& tag = view.data.tag(id);
      if (ShownClass(tag) != data_class || ShownPlugin(tag, mindspore) != request.plugin) continue;
      if (!request.tags.all && !request.tags.Wants(runtime::LossyUtf8(view.data.tag_name(id))))
        continue;
      use(id, tag);
    }
  }

  void ListRun(const std::string& run, const SeriesRequest& request, DataClass data_class,
               SeriesMessage* answer) {
    answer->BeginRun(run);
    if (data_class != DataClass::kScalar) LoadPlaces(run, request, data_class);
    Trial trial;
    LookNow(run, [&](const View& view) {
      trial = TrialOf(view, request, data_class);
      ForEachTag(view, request, data_class, [&](RunData::TagId id, const RunData::Tag& tag) {
        AddInfo(view, id, tag, data_class, answer);
      });
    });
    if (trial.shown) AddHParams(run, request, trial, answer);
  }

  // What a list says of values that are no scalars is seen where they stand, which is not known of
  // a run that was only counted.
  void LoadPlaces(const std::string& run, const SeriesRequest& request, DataClass data_class) {
    bool missing = false;
    LookNow(run, [&](const View& view) {
      ForEachTag(view, request, data_class, [&](RunData::TagId, const RunData::Tag& tag) {
        missing = missing || tag.values->places.size() == 0;
      });
    });
    if (missing) {
      LookWhole(run, options_.catalog->Monotonic() + options_.list_patience, [](const View&) {});
    }
  }

  void AddInfo(const View& view, RunData::TagId id, const RunData::Tag& tag, DataClass data_class,
               SeriesMessage* answer) {
    const std::string name = runtime::LossyUtf8(view.data.tag_name(id));
    const std::string display_name = runtime::LossyUtf8(ShownDisplayName(tag, name));
    const std::string description = runtime::LossyUtf8(tag.kind->description);
    const std::string plugin = runtime::LossyUtf8(ShownPlugin(tag, HasMindSpore(view.listed)));
    const ScalarSummary& summary =
        data_class == DataClass::kScalar ? tag.summary : tag.values->summary;
    SeriesInfo info;
    info.max_step = summary.last_step;
    info.max_wall_time = summary.last_time;
    info.plugin = plugin;
    info.content = ShownContent(tag);
    info.display_name = display_name;
    info.description = description;
    info.data_class = data_class;
    if (data_class == DataClass::kBlobSequence) {
      info.max_length = static_cast<std::int64_t>(MaxLength(view, id, tag));
    }
    answer->AddInfo(name, info);
  }

  // Of the values of a tag; those that came since the last time are looked into. (Under the lock of
  // the run: there are few.)
  std::size_t MaxLength(const View& view, RunData::TagId id, const RunData::Tag& tag) {
    const std::pair<std::string, std::string> key(view.listed.name, view.data.tag_name(id));
    BlobLengths lengths;
    {
      runtime::MutexLock lock(mutex_);
      if (const auto found = lengths_.find(key); found != lengths_.end()) lengths = found->second;
    }
    if (lengths.generation != view.data.generation()) lengths = {view.data.generation(), 0, 0};
    const std::span<const ValuePlace> places = tag.values->places.all();
    const std::size_t first =
        std::max(lengths.seen, places.size() - std::min(places.size(), kMostCounted));
    for (std::size_t i = first; i < places.size(); ++i) {
      const auto bytes =
          ReadValue(view.listed.directory, view.data.file(places[i].file).listed.name, places[i]);
      if (!bytes.ok()) continue;
      const auto count = BlobCount(places[i].form, tag.plugin(), *bytes);
      if (count.ok()) lengths.most = std::max(lengths.most, *count);
    }
    lengths.seen = std::max(lengths.seen, places.size());
    runtime::MutexLock lock(mutex_);
    if (lengths_.size() > kMostCounts) lengths_.clear();
    lengths_[key] = lengths;
    return lengths.most;
  }

  absl::StatusOr<std::string> ReadValue(const std::string& directory, const std::string& file,
                                        const ValuePlace& place) const {
    if (place.length == 0) return std::string();
    return ReadStretch(absl::StrCat(directory, "/", file),
                       {.offset = place.offset, .length = place.length, .crc = place.crc},
                       options_.catalog->open_files());
  }

  // Of the trial behind a run; null: there is none.
  std::shared_ptr<const RunConfig> ConfigOf(const std::string& run) const {
    const auto item = options_.catalog->Brief(run);
    if (!item.ok()) return nullptr;
    const auto config = (*item)->Get<RunConfig>(kConfigKey, BriefItem::Missing::kNothing);
    if (!config.ok() || *config == nullptr || (*config)->facts().empty()) return nullptr;
    return *config;
  }

  // Whether the hyperparameters of the run's trial are in the answer: its files have none.
  static Trial TrialOf(const View& view, const SeriesRequest& request, DataClass data_class) {
    return {.shown = data_class == DataClass::kTensor && request.plugin == "hparams" &&
                     request.tags.Wants(kSessionStartTag) &&
                     !view.data.FindTag(kSessionStartTag).has_value(),
            .start_time = view.data.start_time()};
  }

  // What a program that knows the plugin "hparams" would have written of it.
  void AddHParams(const std::string& run, const SeriesRequest& request, const Trial& trial,
                  SeriesMessage* answer) {
    const auto config = ConfigOf(run);
    if (config == nullptr) return;
    if (request.num_points.has_value()) {
      if (*request.num_points == 0) return answer->AddValues(kSessionStartTag, {});
      return answer->AddValues(kSessionStartTag, {{0}, {trial.start_time}, {EmptyTensor()}});
    }
    const std::string content = SessionStartContent(config->facts(), {}, trial.start_time);
    SeriesInfo info;
    info.max_wall_time = trial.start_time;
    info.plugin = "hparams";
    info.content = content;
    info.data_class = DataClass::kTensor;
    answer->AddInfo(kSessionStartTag, info);
  }

  // Of a request that reads. What a user has said is told to TensorBoard's plugins too, but for
  // "all": they ask for 0 then.
  std::uint64_t Wanted(const SeriesRequest& request) const {
    const auto wanted = static_cast<std::uint64_t>(request.num_points.value_or(0));
    const auto said = options_.samples.find(request.plugin);
    const bool all = said != options_.samples.end() && !said->second.has_value();
    return wanted == 0 && all ? std::numeric_limits<std::uint64_t>::max() : wanted;
  }

  std::uint64_t CountSeries(std::span<const std::string> runs, const SeriesRequest& request,
                            DataClass data_class) {
    std::uint64_t series = 0;
    for (const std::string& run : runs) {
      LookNow(run, [&](const View& view) {
        ForEachTag(view, request, data_class, [&](auto, const auto&) { ++series; });
      });
    }
    return series;
  }

  void ReadScalars(std::span<const std::string> runs, const SeriesRequest& request,
                   SeriesMessage* answer) {
    const absl::Duration deadline = Deadline();
    const std::uint64_t each =
        PointsOfEach(Wanted(request), CountSeries(runs, request, DataClass::kScalar),
                     options_.samples.contains(request.plugin));
    std::vector<Point> points;
    for (const std::string& run : runs) {
      answer->BeginRun(run);
      LookWhole(run, deadline, [&](const View& view) {
        ForEachTag(view, request, DataClass::kScalar, [&](RunData::TagId id, const auto&) {
          ReadPoints(view.data.ByStep(id, options_.overlap), each, &points);
          answer->AddPoints(runtime::LossyUtf8(view.data.tag_name(id)), points);
        });
      });
    }
  }

  static void ReadPoints(const ScalarColumns& series, std::uint64_t limit,
                         std::vector<Point>* points) {
    points->clear();
    if (series.empty() || limit == 0) return;
    series.Read(series.size() - 1, 1, points);
    if (limit == 1) return;
    const std::int64_t last_step = points->front().step;
    points->clear();
    series.Read(0, 1, points);
    PointChoice choice({series.size(), points->front().step, last_step}, limit);
    for (std::uint64_t first = 0; first < series.size(); first += kPointsAtOnce) {
      points->clear();
      series.Read(first, kPointsAtOnce, points);
      choice.Add(*points);
    }
    *points = std::move(choice).Take();
  }

  // Tensors and blob sequences.
  void ReadStored(std::span<const std::string> runs, const SeriesRequest& request,
                  DataClass data_class, SeriesMessage* answer) {
    const absl::Duration deadline = Deadline();
    for (const std::string& run : runs) {
      answer->BeginRun(run);
      Trial trial;
      std::vector<StoredSeries> all;
      LookWhole(run, deadline, [&](const View& view) {
        trial = TrialOf(view, request, data_class);
        ForEachTag(view, request, data_class, [&](RunData::TagId id, const RunData::Tag& tag) {
          all.push_back(Store(view, id, tag));
        });
      });
      for (const StoredSeries& series : all) AddStored(run, series, request, data_class, answer);
      if (trial.shown) AddHParams(run, request, trial, answer);
    }
  }

  StoredSeries Store(const View& view, RunData::TagId id, const RunData::Tag& tag) const {
    StoredSeries series;
    series.tag = std::string(view.data.tag_name(id));
    series.plugin = std::string(tag.plugin());
    series.directory = view.listed.directory;
    for (const RunFileData& file : view.data.files()) series.files.push_back(file.listed.name);
    series.places = tag.values->places.Select(view.data.ValueMarks(id), options_.overlap,
                                              std::numeric_limits<std::int64_t>::min(),
                                              std::numeric_limits<std::int64_t>::max());
    return series;
  }

  // Fewer than are wanted if they would not fit into the answer; the last at least.
  static std::vector<std::size_t> Choose(const StoredSeries& series, std::uint64_t wanted,
                                         DataClass data_class, std::size_t answered) {
    const std::uint64_t room = kMostBytes - std::min<std::uint64_t>(kMostBytes, answered);
    for (std::uint64_t limit = std::min<std::uint64_t>(wanted, series.places.size());;
         limit = limit / 2) {
      std::vector<std::size_t> chosen = ChooseEvenly(series.places.size(), limit);
      std::uint64_t bytes = 0;
      for (const std::size_t place : chosen) {
        // A histogram of the old style grows by half; of a blob there is a key of 200 bytes.
        bytes += data_class == DataClass::kTensor ? series.places[place].length * 3 / 2 + 64 : 800;
      }
      if (bytes <= room || limit <= 1) return chosen;
    }
  }

  void AddStored(const std::string& run, const StoredSeries& series, const SeriesRequest& request,
                 DataClass data_class, SeriesMessage* answer) const {
    SeriesValues values;
    for (const std::size_t i : Choose(series, Wanted(request), data_class, answer->size())) {
      const ValuePlace& place = series.places[i];
      auto value = data_class == DataClass::kTensor ? ReadTensor(series, place)
                                                    : BlobKeys(run, series, place);
      // What a file does not hold any more, or never did, is nothing to show.
      if (!value.ok()) continue;
      values.steps.push_back(place.step);
      values.wall_times.push_back(place.wall_time);
      values.values.push_back(*std::move(value));
    }
    answer->AddValues(runtime::LossyUtf8(series.tag), values);
  }

  absl::StatusOr<std::string> ReadTensor(const StoredSeries& series,
                                         const ValuePlace& place) const {
    const auto bytes = ReadValue(series.directory, series.files[place.file], place);
    if (!bytes.ok()) return bytes.status();
    return TensorOf(place.form, *bytes);
  }

  absl::StatusOr<std::string> BlobKeys(const std::string& run, const StoredSeries& series,
                                       const ValuePlace& place) const {
    const auto bytes = ReadValue(series.directory, series.files[place.file], place);
    if (!bytes.ok()) return bytes.status();
    const auto count = BlobCount(place.form, series.plugin, *bytes);
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

  GrpcAnswer ReadBlob(std::string_view message) {
    const auto text = ParseBlobKeyRequest(message);
    if (!text.ok()) return {text.status(), {}};
    const auto key = DecodeBlobKey(*text);
    if (!key.ok()) return {key.status(), {}};
    const auto blob = FindBlob(*key);
    if (!blob.ok()) return {blob.status(), {}};
    GrpcAnswer answer;
    for (std::size_t at = 0; at == 0 || at < blob->size(); at += kChunk) {
      AppendFrame(BlobMessage(std::string_view(*blob).substr(at, kChunk)), &answer.frames);
    }
    return answer;
  }

  absl::StatusOr<std::string> FindBlob(const BlobKey& key) {
    std::optional<ValuePlace> found;
    std::string directory, plugin;
    LookWhole(key.run, Deadline(), [&](const View& view) {
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
    const auto bytes = ReadValue(directory, key.file, *found);
    if (absl::IsDataLoss(bytes.status())) return absl::NotFoundError(bytes.status().message());
    if (!bytes.ok()) return bytes.status();
    return BlobAt(found->form, plugin, *bytes, key.index);
  }

  const Options options_;
  runtime::Mutex mutex_;
  runtime::CondVar scan_ended_;
  bool scanned_ ABSL_GUARDED_BY(mutex_) = false;
  // By run and tag.
  std::map<std::pair<std::string, std::string>, BlobLengths> lengths_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Provider> Provider::Create(Options options) {
  return std::make_unique<RealProvider>(std::move(options));
}

Provider::Effort Provider::EffortOf(std::string_view path) {
  switch (MethodOf(path)) {
    case Method::kUnknown:
    case Method::kGetExperiment:
      return Effort::kNone;
    case Method::kListPlugins:
    case Method::kListRuns:
    case Method::kListScalars:
    case Method::kListTensors:
    case Method::kListBlobSequences:
      return Effort::kList;
    default:
      return Effort::kRead;
  }
}

}  // namespace datamanager::tensorboard
