#include "datamanager/answer/listing_pages.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/json/run_rows.h"
#include "bus/wire/topic.h"
#include "datamanager/answer/run_facts_of.h"
#include "datamanager/answer/scalar_messages.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/brief/run_labels.h"
#include "datamanager/brief/run_parameters.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/find/name_pattern.h"
#include "datamanager/find/profiler_directory.h"
#include "datamanager/query/run_facts.h"
#include "datamanager/query/run_query.h"
#include "datamanager/read/run_data.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/scalar_columns.h"
#include "datamanager/series/scalar_summary.h"
#include "eventlog/tag_metadata.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

namespace datamanager {
namespace {

using RunInfo = RunCatalog::RunInfo;
using runtime::Absl;
using PluginLists = std::vector<std::unique_ptr<msg::PluginTagsT>>;

constexpr std::size_t kNamesInAnError = 8;
// A step, a time and a value each, in the 64 MiB of an answer.
constexpr std::uint64_t kMostPoints = (64 << 20) / 24;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// A page ends behind the run or tag that makes it so large; an answer may have 64 MiB. Names in the
// lists of plugins take at most as much again.
constexpr std::size_t kMostPageBytes = std::size_t{16} << 20;
// Bytes that a message needs for a name beside the text, and for a tag or a run with all of its
// numbers.
constexpr std::size_t kBytesOfAName = 16;
constexpr std::size_t kBytesOfATable = 400;

// Nothing for an empty pattern.
absl::StatusOr<std::optional<NamePattern>> Compiled(const std::string& pattern) {
  if (pattern.empty()) return std::nullopt;
  auto compiled = NamePattern::Compile(pattern);
  if (!compiled.ok()) return compiled.status();
  return *std::move(compiled);
}

// The end of a page: its last run as it was then. Runs that have grown since stand before it.
struct Place {
  std::int64_t update_us = 0;
  std::string name;

  static Place Of(const RunInfo& run) { return {run.update_us, run.listed->name}; }
  std::string Text() const { return absl::StrCat(update_us, " ", name); }
  static std::optional<Place> Parse(std::string_view text) {
    const std::size_t space = text.find(' ');
    Place place;
    if (space == text.npos || !absl::SimpleAtoi(Absl(text.substr(0, space)), &place.update_us)) {
      return std::nullopt;
    }
    place.name = text.substr(space + 1);
    return place;
  }
  // Newest first, then by name.
  bool IsBefore(const Place& other) const {
    return update_us != other.update_us ? update_us > other.update_us : name < other.name;
  }
};

std::uint32_t CountFiles(const ListedRun& run, FileKind kind) {
  return static_cast<std::uint32_t>(
      std::count_if(run.files.begin(), run.files.end(),
                    [kind](const ListedFile& file) { return file.kind == kind; }));
}

bool HasKind(const ListedRun& run, const std::string& kind) {
  const auto any = [&run](FileKind wanted) { return CountFiles(run, wanted) > 0; };
  if (kind == "summary") return any(FileKind::kTensorBoard) || any(FileKind::kMindSpore);
  if (kind == "graph") return any(FileKind::kMindSporeGraph);
  if (kind == "lineage") return any(FileKind::kMindSporeLineage);
  return any(FileKind::kMindSporeExplain);
}

absl::Status CheckKind(const std::string& kind) {
  constexpr std::string_view kKinds[] = {"", "summary", "graph", "lineage", "explain"};
  if (std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "files of the kind \"", kind, "\": it is one of summary, graph, lineage and explain"));
}

// Calls `use` with the data that was read of the run until now, if any was read.
void ReadNow(RunSource& source, const std::string& run, const RunSource::ReadFunction& use) {
  (void)source.Read({.run = run,
                     .need = RunSource::Need::kCounts,
                     .cached_only = true,
                     .take_part = true,
                     .without_state = true},
                    use);
}

// A run that has gone since it was listed has what the list says, and nothing else.
BriefFacts BriefOf(const RunInfo& info, RunSource& source) {
  const auto item = source.Brief(info.listed->name);
  return item.ok() ? BriefFacts(**item) : BriefFacts(BriefItem(info.listed));
}

// `names`: of all runs, sorted, if the query looks at parameters.
Answer Ask(const RunQuery& query, const RunInfo& info, const BriefFacts& brief,
           std::span<const std::string> names, RunSource& source) {
  RunFacts facts = brief.Facts(info.state);
  PluginFacts plugin;
  if (query.NeedsParameters()) plugin = PluginFactsOf(source, names, info.listed->name);
  facts.hparams = plugin.config.facts();
  facts.may_have_more_hparams = plugin.may_have_more;
  facts.update_us = info.update_us;
  facts.bytes = info.bytes;
  const std::int64_t now_us = source.NowUs();
  if (!query.NeedsFiles()) return query.Ask(facts, now_us);
  std::optional<Answer> answer;
  ReadNow(source, info.listed->name, [&](const RunSource::View& view) {
    const std::vector<TagFacts> tags = TagFactsOf(view.data);
    AddCounts(view.data, tags, &facts);
    answer = query.Ask(facts, now_us);
    return absl::OkStatus();
  });
  return answer.has_value() ? *answer : query.Ask(facts, now_us);
}

// `parameters` are sorted by name.
const ConfigFacts* FindParameter(std::span<const ConfigFacts> parameters, std::string_view name) {
  const auto found = std::lower_bound(
      parameters.begin(), parameters.end(), name,
      [](const ConfigFacts& fact, std::string_view wanted) { return fact.name < wanted; });
  return found != parameters.end() && found->name == name ? &*found : nullptr;
}

void AddMetrics(const std::vector<std::string>& names, const RunData& data, msg::RunT* run) {
  for (const std::string& name : names) {
    const auto id = data.FindTag(name);
    if (!id.has_value()) continue;
    const ScalarSummary& summary = data.tag(*id).summary;
    if (summary.points == 0) continue;
    auto& metric = run->metrics.emplace_back(std::make_unique<msg::MetricSummaryT>());
    metric->tag = name;
    metric->last = summary.last;
    metric->min = summary.min;
    metric->max = summary.max;
  }
}

// `of_files`: the parameters that only files have, which count where the brief has none.
void AddParameters(const std::vector<std::string>& names, const BriefFacts& brief,
                   std::span<const ConfigFacts> of_files, msg::RunT* run) {
  for (const std::string& name : names) {
    const ConfigFacts* fact = FindParameter(brief.parameters(), name);
    if (fact == nullptr) fact = FindParameter(of_files, name);
    if (fact == nullptr) continue;
    auto& pair = run->parameters.emplace_back(std::make_unique<msg::KeyValueT>());
    pair->key = name;
    pair->value = ParameterAsJson(*fact);
  }
}

// Adds the metrics and parameters that are asked for. `names`: of all runs, sorted.
void AddCells(const msg::RunsRequestT& request, const BriefFacts& brief,
              std::span<const std::string> names, RunSource& source, msg::RunT* run) {
  const bool needs_files = std::any_of(
      request.parameters.begin(), request.parameters.end(),
      [&](const std::string& name) { return FindParameter(brief.parameters(), name) == nullptr; });
  PluginFacts plugin;
  if (needs_files || !request.metrics.empty()) {
    ReadNow(source, run->name, [&](const RunSource::View& view) {
      AddMetrics(request.metrics, view.data, run);
      if (needs_files) plugin.config = PluginParameters(SessionStartOf(view.data));
      return absl::OkStatus();
    });
  }
  // (Only a run without parameters of its own has those of the run below it.)
  if (needs_files && plugin.config.facts().empty() && !RunsBelow(names, run->name).empty()) {
    plugin = PluginFactsOf(source, names, run->name);
  }
  AddParameters(request.parameters, brief, plugin.config.facts(), run);
}

// About as many as a page's bytes count.
std::size_t BytesOf(const msg::RunT& run) {
  std::size_t bytes = kBytesOfATable + 2 * run.directory.size() + run.why_failed.size() +
                      run.note.size() + run.display_name.size();
  for (const auto& metric : run.metrics) bytes += metric->tag.size() + 4 * kBytesOfAName;
  for (const auto& pair : run.parameters) {
    bytes += pair->key.size() + pair->value.size() + 2 * kBytesOfAName;
  }
  return bytes;
}

// Lists every known plugin and each other plugin that a tag names. The lists together have the
// first tags by name that fit into `*bytes`, from which their size is subtracted.
PluginLists PluginsOf(const RunData& data, std::size_t* bytes) {
  PluginLists lists;
  std::map<std::string, msg::PluginTagsT*, std::less<>> known;
  const auto list_of = [&](std::string_view plugin) {
    const auto [entry, fresh] = known.try_emplace(std::string(plugin), nullptr);
    if (fresh) {
      entry->second = lists.emplace_back(std::make_unique<msg::PluginTagsT>()).get();
      entry->second->plugin = runtime::LossyUtf8(plugin);
    }
    return entry->second;
  };
  for (const std::string_view plugin : eventlog::KnownPlugins()) list_of(plugin);
  for (const RunData::TagId id : data.TagsByName()) {
    const std::string_view name = data.tag_name(id);
    if (name.size() + kBytesOfAName > *bytes) {
      *bytes = 0;
      break;
    }
    *bytes -= name.size() + kBytesOfAName;
    list_of(data.tag(id).plugin())->tags.emplace_back(name);
  }
  return lists;
}

msg::TagT TagMessage(const std::string& run, const RunData& data, RunData::TagId id) {
  const RunData::Tag& tag = data.tag(id);
  const bool scalar = tag.summary.points > 0;
  const ScalarSummary& summary = scalar ? tag.summary : tag.values->summary;
  msg::TagT message;
  message.name = std::string(data.tag_name(id));
  message.plugin = runtime::LossyUtf8(tag.plugin());
  message.points = summary.points;
  message.first_step = summary.first_step;
  message.last_step = summary.last_step;
  message.first_time = summary.first_time;
  message.last_time = summary.last_time;
  // Only scalars have a minimum, a maximum and a last value.
  message.min = scalar ? summary.min : kNaN;
  message.max = scalar ? summary.max : kNaN;
  message.last = scalar ? summary.last : kNaN;
  message.not_finite = scalar ? summary.not_finite : 0;
  message.display_name = runtime::LossyUtf8(tag.kind->display_name);
  message.description = runtime::LossyUtf8(tag.kind->description);
  message.data_class = static_cast<msg::DataClass>(tag.kind->data_class);
  message.content.assign(tag.kind->content.begin(), tag.kind->content.end());
  if (scalar) message.topic = bus::TopicOf({"m", run, data.tag_name(id)});
  return message;
}

absl::Status NoScalars(const RunSource::View& view, const std::string& tag) {
  std::vector<std::string> names;
  for (const RunData::TagId id : view.data.TagsByName()) {
    if (names.size() == kNamesInAnError) break;
    if (view.data.tag(id).summary.points > 0) names.emplace_back(view.data.tag_name(id));
  }
  return absl::NotFoundError(absl::StrCat("no scalar tag \"", tag, "\" in run ", view.listed.name,
                                          "; it has ",
                                          names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

}  // namespace

msg::RunT RunMessage(const RunInfo& info) {
  const ListedRun& listed = *info.listed;
  msg::RunT run;
  run.name = listed.name;
  run.create_us = listed.create_us;
  run.update_us = info.update_us;
  run.files = static_cast<std::uint32_t>(
      std::count_if(listed.files.begin(), listed.files.end(),
                    [](const ListedFile& file) { return HoldsData(file.kind); }));
  run.bytes = info.bytes;
  run.tags = static_cast<std::uint32_t>(info.tags);
  run.points = info.points;
  run.last_step = info.last_step.value_or(0);
  run.bad_records = info.bad_records;
  run.directory = runtime::LossyUtf8(listed.directory);
  run.base_directory = run.directory;
  if (listed.name != "." && run.directory.ends_with("/" + listed.name)) {
    run.base_directory.resize(run.directory.size() - listed.name.size() - 1);
  }
  run.generation = info.generation;
  run.access_us = info.access_us;
  if (listed.profile.has_value()) {
    run.profiler_directory = runtime::LossyUtf8(listed.profile->directory);
    run.profiler_type = std::string(ProfilerTypeName(listed.profile->type));
    run.profiler_us = listed.profile->update_us;
  }
  run.cache = static_cast<msg::CacheState>(info.state);
  if (!info.why.ok()) run.why_failed = runtime::LossyUtf8(std::string(info.why.message()));
  run.cached_bytes = info.cached_bytes;
  run.read_bytes = info.read_bytes;
  run.counted = info.counted;
  run.intact = info.intact;
  run.summary_files =
      CountFiles(listed, FileKind::kTensorBoard) + CountFiles(listed, FileKind::kMindSpore);
  run.graph_files = CountFiles(listed, FileKind::kMindSporeGraph);
  run.lineage_files = CountFiles(listed, FileKind::kMindSporeLineage);
  run.explain_files = CountFiles(listed, FileKind::kMindSporeExplain);
  run.start_time = info.start_time;
  return run;
}

namespace {

// A run with what is said of it and the metrics and parameters that are asked for.
std::unique_ptr<msg::RunT> RunWithCells(const msg::RunsRequestT& request, const RunInfo& info,
                                        std::span<const std::string> names, RunSource& source) {
  const BriefFacts brief = BriefOf(info, source);
  auto run = std::make_unique<msg::RunT>(RunMessage(info));
  run->labels = brief.said().labels;
  run->note = brief.said().note;
  run->display_name = brief.said().display_name;
  if (brief.labels() != nullptr) run->trial = brief.labels()->trial;
  AddCells(request, brief, names, source, run.get());
  return run;
}

// Sorts runs by one column, of which alone it asks them all; only those of the page are made whole.
class SortedRuns {
 public:
  SortedRuns(const msg::RunsRequestT& request, RunSource* source)
      : request_(request), by_(bus::SortColumn(request.sort)), source_(*source) {
    bus::RequestColumns({&by_, 1}, key_);
  }

  absl::Status Check() const {
    if (by_.kind == bus::RunColumn::Kind::kField && by_.name == "trial_state") {
      return absl::InvalidArgumentError(
          "runs are not sorted by trial_state here: the trainer knows the states of trials");
    }
    if (!request_.after.empty()) {
      return absl::InvalidArgumentError("`after` is for runs that are not sorted: use `skip`");
    }
    return absl::OkStatus();
  }
  bool needs_names() const { return !key_.parameters.empty(); }

  // A metric needs nothing of what is known without the run's files.
  void Add(const RunInfo& info, std::span<const std::string> names) {
    bus::RunRow row;
    if (by_.IsMetric()) {
      row.run = std::make_unique<msg::RunT>();
      ReadNow(source_, info.listed->name, [&](const RunSource::View& view) {
        AddMetrics(key_.metrics, view.data, row.run.get());
        return absl::OkStatus();
      });
    } else {
      row.run = RunWithCells(key_, info, names, source_);
    }
    keys_.push_back(std::move(row));
    runs_.push_back(&info);
  }

  void MakePage(std::span<const std::string> names, msg::RunsReplyT* reply) const {
    const std::vector<std::size_t> places =
        bus::SortedPlaces(by_, request_.sort.starts_with("-"), keys_);
    const std::size_t most = request_.limit == 0 ? places.size() : request_.limit;
    std::size_t bytes = 0;
    for (std::size_t i = request_.skip;
         i < places.size() && reply->runs.size() < most && bytes <= kMostPageBytes; ++i) {
      reply->runs.push_back(RunWithCells(request_, *runs_[places[i]], names, source_));
      bytes += BytesOf(*reply->runs.back());
    }
  }

 private:
  const msg::RunsRequestT& request_;
  const bus::RunColumn by_;
  RunSource& source_;
  msg::RunsRequestT key_;
  std::vector<bus::RunRow> keys_;
  std::vector<const RunInfo*> runs_;
};

}  // namespace

absl::StatusOr<msg::RunsReplyT> RunsPage(const msg::RunsRequestT& request,
                                         const std::vector<RunInfo>& runs, RunSource& source) {
  if (absl::Status good = CheckKind(request.kind); !good.ok()) return good;
  const auto pattern = Compiled(request.pattern);
  if (!pattern.ok()) return pattern.status();
  std::optional<RunQuery> query;
  if (!request.query.empty()) {
    auto parsed = RunQuery::Parse(request.query);
    if (!parsed.ok()) return parsed.status();
    query = *std::move(parsed);
  }
  std::optional<SortedRuns> sorted;
  if (!request.sort.empty()) {
    sorted.emplace(request, &source);
    if (absl::Status good = sorted->Check(); !good.ok()) return good;
  }
  std::vector<std::string> names;
  if (!request.parameters.empty() || (sorted.has_value() && sorted->needs_names()) ||
      (query.has_value() && query->NeedsParameters())) {
    auto all = source.Names();
    if (!all.ok()) return all.status();
    names = *std::move(all);
  }
  std::optional<Place> after;
  if (!request.after.empty()) {
    after = Place::Parse(request.after);
    if (!after.has_value()) {
      return absl::InvalidArgumentError("`after` is not the `next` of a page of runs");
    }
  }

  msg::RunsReplyT reply;
  std::size_t bytes = 0;
  std::size_t room_for_names = kMostPageBytes;
  bool full = false;
  std::optional<Place> last;
  for (const RunInfo& info : runs) {
    const std::string& name = info.listed->name;
    if (pattern->has_value() && !(*pattern)->Matches(name)) continue;
    if (!request.kind.empty() && !HasKind(*info.listed, request.kind)) continue;
    const Answer answer =
        query.has_value() ? Ask(*query, info, BriefOf(info, source), names, source) : Answer::kYes;
    if (answer == Answer::kUnknown) ++reply.undecided;
    if (answer != Answer::kYes) continue;
    ++reply.total;
    if (sorted.has_value()) {
      sorted->Add(info, names);
      continue;
    }
    if (after.has_value() && !after->IsBefore(Place::Of(info))) continue;
    full = full || (request.limit != 0 && reply.runs.size() == request.limit) ||
           bytes > kMostPageBytes;
    if (full) {
      if (reply.next.empty()) reply.next = last->Text();
      continue;
    }
    auto run = RunWithCells(request, info, names, source);
    if (request.with_plugins) {
      ReadNow(source, name, [&](const RunSource::View& view) {
        run->plugins = PluginsOf(view.data, &room_for_names);
        return absl::OkStatus();
      });
      // Its tags are for the next page.
      full = room_for_names == 0 && last.has_value();
      if (full) {
        reply.next = last->Text();
        continue;
      }
    }
    last = Place::Of(info);
    bytes += BytesOf(*run);
    reply.runs.push_back(std::move(run));
  }
  if (sorted.has_value()) sorted->MakePage(names, &reply);
  return reply;
}

absl::StatusOr<msg::TagsReplyT> TagsPage(const RunSource::View& view,
                                         const msg::TagsRequestT& request) {
  const auto pattern = Compiled(request.pattern);
  if (!pattern.ok()) return pattern.status();
  const RunData& data = view.data;
  msg::TagsReplyT reply;
  reply.run = view.listed.name;
  reply.generation = data.generation();
  reply.cache = static_cast<msg::CacheState>(view.state);
  reply.incomplete = view.incomplete;
  // Once: on the first page.
  std::size_t room_for_names = kMostPageBytes;
  if (request.after.empty()) reply.plugins = PluginsOf(data, &room_for_names);
  std::size_t bytes = 0;
  std::span<const RunData::TagId> tags = data.TagsByName();
  const bool all = request.plugin.empty() && !pattern->has_value();
  if (all) {
    // Tags of other pages need not be looked at.
    reply.total = tags.size();
    const auto begin = std::upper_bound(tags.begin(), tags.end(), request.after,
                                        [&](const std::string& after, RunData::TagId id) {
                                          return std::string_view(after) < data.tag_name(id);
                                        });
    if (!request.after.empty()) tags = {begin, tags.end()};
  }
  for (const RunData::TagId id : tags) {
    const std::string_view name = data.tag_name(id);
    if (!request.plugin.empty() && data.tag(id).plugin() != request.plugin) continue;
    if (pattern->has_value() && !(*pattern)->Matches(name)) continue;
    if (!all) ++reply.total;
    if (!request.after.empty() && name <= request.after) continue;
    if ((request.limit != 0 && reply.tags.size() == request.limit) || bytes > kMostPageBytes) {
      if (reply.next.empty()) reply.next = reply.tags.back()->name;
      if (all) break;
      continue;
    }
    reply.tags.push_back(std::make_unique<msg::TagT>(TagMessage(view.listed.name, data, id)));
    const msg::TagT& tag = *reply.tags.back();
    bytes += kBytesOfATable + tag.name.size() + tag.topic.size() + tag.content.size() +
             tag.display_name.size() + tag.description.size();
  }
  return reply;
}

absl::StatusOr<msg::ScalarsReplyT> ScalarsPage(const RunSource::View& view,
                                               const msg::ScalarsRequestT& request) {
  const auto overlap = OverlapOf(request.overlap);
  if (!overlap.has_value()) return absl::InvalidArgumentError("an unknown overlap policy");
  RunData& data = view.data;
  const auto id = data.FindTag(request.tag);
  if (!id.has_value() || data.tag(*id).summary.points == 0) return NoScalars(view, request.tag);
  msg::ScalarsReplyT reply;
  reply.run = view.listed.name;
  reply.tag = request.tag;
  reply.plugin = runtime::LossyUtf8(data.tag(*id).plugin());
  reply.generation = data.generation();
  reply.incomplete = view.incomplete;
  reply.total_points = data.tag(*id).summary.points;
  const ScalarColumns& series = data.ByStep(*id, *overlap);
  reply.kept_points = series.size();
  if (request.columns > 0) {
    AppendColumns(series, request.first_step, request.last_step, request.columns, &reply);
    return reply;
  }
  constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();
  PointPages pages({.first_step = request.first_step,
                    .last_step = request.last_step,
                    .first_point = request.first_point,
                    .limit = request.limit == 0 ? kAll : request.limit,
                    .page_points = std::numeric_limits<std::size_t>::max()});
  const std::uint64_t selected = series.Find(request.first_step, request.last_step).size();
  const std::uint64_t behind = selected - std::min<std::uint64_t>(request.first_point, selected);
  if (std::min(behind, request.limit == 0 ? kAll : request.limit) > kMostPoints) {
    return absl::ResourceExhaustedError(
        absl::StrCat("too many points for one answer (at most ", kMostPoints,
                     "); give a limit or a number of columns, or use ReadScalars"));
  }
  const auto next = pages.Next(series, data.generation(), &reply);
  if (!next.ok()) return next.status();
  reply.more = reply.first_point + reply.steps.size() < selected;
  return reply;
}

}  // namespace datamanager
