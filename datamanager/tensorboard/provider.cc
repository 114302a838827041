#include "datamanager/tensorboard/provider.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/read/run_data.h"
#include "datamanager/series/columns.h"
#include "datamanager/series/scalar_columns.h"
#include "datamanager/tensorboard/choice_cache.h"
#include "datamanager/tensorboard/point_choice.h"
#include "datamanager/tensorboard/provider_messages.h"
#include "datamanager/tensorboard/run_access.h"
#include "datamanager/tensorboard/shown_values.h"
#include "datamanager/tensorboard/stored_values.h"
#include "datamanager/tensorboard/trial_hparams.h"
#include "eventlog/event.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

namespace datamanager::tensorboard {
namespace {

using eventlog::DataClass;
using View = RunSource::View;

constexpr std::string_view kService = "/tensorboard.data.TensorBoardDataProvider/";
constexpr std::uint64_t kPointsAtOnce = 8192;
constexpr std::size_t kChoiceBytes = 4 << 20;  // Room for 280 series with 1,000 points.

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

class RealProvider : public Provider {
 public:
  explicit RealProvider(Options options)
      : options_(std::move(options)),
        access_(options_.catalog, options_.list_patience, options_.read_patience),
        stored_({.access = &access_,
                 .overlap = options_.overlap,
                 .most_bytes = options_.most_answer_bytes - options_.most_answer_bytes / 16}) {}

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
        return stored_.ReadBlob(message);
      default:
        return AnswerSeries(method, message);
    }
  }

 private:
  struct Run {
    std::string name;
    double start_time = 0;
  };

  // Returns the runs that have data, the oldest first: the order of their colours.
  std::vector<Run> Runs(const NameFilter& filter = {}) {
    access_.AwaitScan();
    std::vector<Run> runs;
    const auto add = [&runs](const RunCatalog::RunInfo& info) {
      if (!std::isnan(info.start_time)) runs.push_back({info.listed->name, info.start_time});
    };
    if (filter.all) {
      for (const RunCatalog::RunInfo& info : options_.catalog->Runs()) add(info);
    }
    for (const std::string& name : filter.names) {
      const auto info = options_.catalog->Describe(name);
      // (The catalog also accepts a unique prefix.)
      if (info.ok() && info->listed->name == name) add(*info);
    }
    std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
      return std::tie(a.start_time, a.name) < std::tie(b.start_time, b.name);
    });
    return runs;
  }

  std::vector<std::string> RunsOf(const NameFilter& filter) {
    std::vector<std::string> names;
    for (Run& run : Runs(filter)) names.push_back(std::move(run.name));
    return names;
  }

  GrpcAnswer Message(std::string_view message) const {
    if (message.size() > options_.most_answer_bytes) {
      return {absl::ResourceExhaustedError(absl::StrCat("the answer would have ", message.size(),
                                                        " bytes, over ", options_.most_answer_bytes,
                                                        ": ask for fewer runs or tags")),
              {}};
    }
    GrpcAnswer answer;
    AppendFrame(message, &answer.frames);
    return answer;
  }

  GrpcAnswer ListRuns() {
    std::vector<RunEntry> rows;
    for (Run& run : Runs()) rows.push_back({std::move(run.name), run.start_time});
    return Message(RunsMessage(rows));
  }

  GrpcAnswer ListPlugins() {
    std::set<std::string> names;
    for (const Run& run : Runs()) {
      access_.ReadKnown(run.name, [&](const View& view) {
        const bool mindspore = HasMindSpore(view.listed);
        // (Includes tags without a value: a plugin may read its files itself, or all values are
        // damaged.)
        for (RunData::TagId id = 0; id < view.data.tag_count(); ++id) {
          names.insert(runtime::LossyUtf8(ShownPlugin(view.data.tag(id), mindspore)));
        }
      });
      if (TrialHParams::ParametersOf(access_.catalog(), run.name) != nullptr)
        names.insert("hparams");
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

  void ListRun(const std::string& run, const SeriesRequest& request, DataClass data_class,
               SeriesMessage* answer) {
    answer->BeginRun(run);
    if (data_class != DataClass::kScalar) LoadPlaces(run, request, data_class);
    TrialHParams trial;
    access_.ReadKnown(run, [&](const View& view) {
      trial = TrialHParams(view, request, data_class);
      ForEachTag(view, request, data_class, [&](RunData::TagId id, const RunData::Tag& tag) {
        AddInfo(view, id, tag, data_class, answer);
      });
    });
    trial.AddTo(access_.catalog(), run, request, answer);
  }

  // Loads the run if a list needs the places of values other than scalars, which are unknown for a
  // run that was only counted.
  void LoadPlaces(const std::string& run, const SeriesRequest& request, DataClass data_class) {
    bool missing = false;
    access_.ReadKnown(run, [&](const View& view) {
      ForEachTag(view, request, data_class, [&](RunData::TagId, const RunData::Tag& tag) {
        missing = missing || tag.values->places.size() == 0;
      });
    });
    if (missing) access_.ReadAll(run, access_.ListDeadline(), [](const View&) {});
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
    if (data_class == DataClass::kBlobSequence) info.max_length = tag.values->most_blobs;
    answer->AddInfo(name, info);
  }

  // Returns the limit of points of a series for a read. TensorBoard's plugins know the numbers that
  // the user has set and request them, except that they request 0 if the user has set "all".
  std::uint64_t PointLimit(const SeriesRequest& request) const {
    const auto wanted = static_cast<std::uint64_t>(request.num_points.value_or(0));
    const auto said = options_.samples.find(request.plugin);
    const bool all = said != options_.samples.end() && !said->second.has_value();
    return wanted == 0 && all ? std::numeric_limits<std::uint64_t>::max() : wanted;
  }

  std::uint64_t CountSeries(std::span<const std::string> runs, const SeriesRequest& request,
                            DataClass data_class) {
    std::uint64_t series = 0;
    for (const std::string& run : runs) {
      access_.ReadKnown(run, [&](const View& view) {
        ForEachTag(view, request, data_class, [&](auto, const auto&) { ++series; });
      });
    }
    return series;
  }

  void ReadScalars(std::span<const std::string> runs, const SeriesRequest& request,
                   SeriesMessage* answer) {
    const absl::Duration deadline = access_.ReadDeadline();
    const std::uint64_t each =
        PointsOfEach(PointLimit(request), CountSeries(runs, request, DataClass::kScalar),
                     options_.samples.contains(request.plugin));
    for (const std::string& run : runs) {
      answer->BeginRun(run);
      access_.ReadAll(run, deadline, [&](const View& view) {
        ForEachTag(view, request, DataClass::kScalar, [&](RunData::TagId id, const auto&) {
          answer->AddPoints(runtime::LossyUtf8(view.data.tag_name(id)),
                            *ChosenPoints(run, view, id, each));
        });
      });
    }
  }

  // Returns an encoded message.
  std::shared_ptr<const std::string> ChosenPoints(const std::string& run, const View& view,
                                                  RunData::TagId id, std::uint64_t limit) {
    const RunData::Tag& tag = view.data.tag(id);
    const ChoiceCache::Series series = {.run = run, .tag = id, .limit = limit};
    const ChoiceCache::State state = {.generation = view.data.generation(),
                                      .points = tag.summary.points};
    // While points are read again, their number does not show which of them are missing.
    const bool complete = tag.points.size() == tag.summary.points;
    if (complete) {
      if (auto message = choices_.Find(series, state)) return message;
    }
    std::vector<Point> points;
    ReadPoints(view.data.ByStep(id, options_.overlap), limit, &points);
    auto message = std::make_shared<const std::string>(PointsMessage(points));
    if (complete) choices_.Put(series, state, message);
    return message;
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

  // Reads tensors and blob sequences.
  void ReadStored(std::span<const std::string> runs, const SeriesRequest& request,
                  DataClass data_class, SeriesMessage* answer) {
    const absl::Duration deadline = access_.ReadDeadline();
    for (const std::string& run : runs) {
      answer->BeginRun(run);
      stored_.AddRun(run, request, data_class, PointLimit(request), deadline, answer);
    }
  }

  const Options options_;
  const RunAccess access_;
  const StoredValues stored_;
  ChoiceCache choices_{kChoiceBytes};
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
