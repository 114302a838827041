#include "datamanager/answer/listing_pages.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
#include "bus/json/run_rows.h"
#include "datamanager/answer/run_facts_of.h"
#include "datamanager/answer/tag_pages.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/brief/run_labels.h"
#include "datamanager/brief/run_parameters.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/find/profiler_directory.h"
#include "datamanager/query/run_facts.h"
#include "datamanager/query/run_query.h"
#include "datamanager/read/run_data.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

// Always true:
// - Without `sort` the runs are ordered newest first, and `next` is a Place in that order: runs
//   that grow meanwhile move before it and shift nothing. With `sort` the caller passes an offset
//   (`skip`).
// - Only the runs on the page are converted completely; the others cost what query and order need.
// - A page ends after the run that takes it over kMostPageBytes.

namespace datamanager {
namespace {

using RunInfo = RunCatalog::RunInfo;
using runtime::Absl;

// The end of a page: its last run as it was then. Runs that have grown since come before it.
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

// Calls `use` with the data that was read of the run so far, if any.
void ReadNow(RunSource& source, const std::string& run, const RunSource::ReadFunction& use) {
  (void)source.Read({.run = run,
                     .need = RunSource::Need::kCounts,
                     .cached_only = true,
                     .take_part = true,
                     .without_state = true},
                    use);
}

// Returns the brief of a run; for a run removed since it was listed, only the listing's facts.
BriefFacts BriefOf(const RunInfo& info, RunSource& source) {
  const auto item = source.Brief(info.listed->name);
  return item.ok() ? BriefFacts(**item) : BriefFacts(BriefItem(info.listed));
}

// `names`: names of all runs, sorted; needed if the query tests parameters.
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

// `parameters` must be sorted by name.
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

// `of_files`: parameters known only from files, used where the brief has none.
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

// Adds the requested metrics and parameters. `names`: names of all runs, sorted.
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
  // (A run that has parameters of its own does not inherit those of the run below it.)
  if (needs_files && plugin.config.facts().empty() && !RunsBelow(names, run->name).empty()) {
    plugin = PluginFactsOf(source, names, run->name);
  }
  AddParameters(request.parameters, brief, plugin.config.facts(), run);
}

// Returns the approximate size of a run in a page.
std::size_t BytesOf(const msg::RunT& run) {
  std::size_t bytes = kBytesOfATable + 2 * run.directory.size() + run.why_failed.size() +
                      run.note.size() + run.display_name.size();
  for (const auto& metric : run.metrics) bytes += metric->tag.size() + 4 * kBytesOfAName;
  for (const auto& pair : run.parameters) {
    bytes += pair->key.size() + pair->value.size() + 2 * kBytesOfAName;
  }
  return bytes;
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

// Returns a run with its annotations and the requested metrics and parameters.
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

// Sorts runs by one column; reads only that column of all runs, and converts only the page's runs
// completely.
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

  // A metric needs none of the facts that are known without the run's files.
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
  const auto pattern = CompilePattern(request.pattern);
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
      // The run's tags belong on the next page.
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

}  // namespace datamanager
