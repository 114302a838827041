#include "datamanager/run_catalog.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/topic.h"
#include "runtime/string_view.h"

namespace datamanager {
namespace {

using runtime::Absl;
using runtime::MutexLock;

constexpr std::size_t kNamesInAnError = 8;
constexpr std::string_view kRoot = "m/";

std::string NameSome(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  const std::size_t shown = std::min(names.size(), kNamesInAnError);
  std::string text =
      absl::StrJoin(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", ");
  if (shown < names.size()) absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return text;
}

// "LEVEL/" and what follows, of a topic "m/LEVEL/..." or the beginning of one.
std::pair<std::string, std::string> SplitTopic(std::string_view topic) {
  const std::string_view rest = topic.substr(kRoot.size());
  const std::size_t slash = rest.find('/');
  if (slash == rest.npos) return {std::string(rest), ""};
  return {std::string(rest.substr(0, slash + 1)), std::string(rest.substr(slash + 1))};
}

}  // namespace

RunCatalog::RunCatalog(Options options) : options_(std::move(options)) {}

std::vector<std::string> RunCatalog::Scan() {
  auto found = FindRuns(options_.root);
  if (!found.ok()) found = FoundRuns{.runs = {}, .directories = {options_.root}};
  std::vector<EntryPtr> entries;
  bool announce = false;
  {
    MutexLock lock(mutex_);
    announce = scanned_;
    std::map<std::string, EntryPtr, std::less<>> runs;
    run_of_directory_.clear();
    runs_by_level_.clear();
    for (FoundRun& run : found->runs) {
      run_of_directory_[run.directory] = run.name;
      const auto known = runs_.find(run.name);
      EntryPtr entry = known == runs_.end() ? std::make_shared<Entry>(run) : known->second;
      runs[run.name] = entry;
      runs_by_level_.try_emplace(absl::StrCat(bus::EncodeLevel(run.name), "/"), entry);
      entries.push_back(std::move(entry));
    }
    runs_ = std::move(runs);
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    {
      MutexLock lock(entries[i]->mutex);
      entries[i]->loader.SetFiles(found->runs[i].files);
    }
    Load(entries[i], announce);
  }
  {
    MutexLock lock(mutex_);
    scanned_ = true;
  }
  return std::move(found->directories);
}

bool RunCatalog::Refresh(const std::string& directory) {
  EntryPtr entry;
  {
    MutexLock lock(mutex_);
    const auto name = run_of_directory_.find(directory);
    if (name == run_of_directory_.end()) return false;
    entry = runs_.find(name->second)->second;
  }
  Load(entry, true);
  return true;
}

void RunCatalog::Load(const EntryPtr& entry, bool announce) {
  RunLoader::NewPoints points;
  std::size_t bytes = 0;
  {
    MutexLock lock(entry->mutex);
    points = entry->loader.Load();
    bytes = entry->loader.Bytes();
    if (announce) Announce(entry->loader, points);
  }
  {
    MutexLock lock(mutex_);
    entry->bytes = bytes;
    if (!points.empty()) entry->last_use = ++uses_;
  }
  KeepWithinBudget(entry);
}

void RunCatalog::Announce(RunLoader& loader, const RunLoader::NewPoints& points) const {
  if (!options_.on_points) return;
  for (const auto& [tag, fresh] : points) {
    options_.on_points(loader.found().name, tag, fresh.first, fresh.points);
  }
}

void RunCatalog::KeepWithinBudget(const EntryPtr& just_used) {
  for (;;) {
    EntryPtr oldest;
    {
      MutexLock lock(mutex_);
      std::size_t total = 0;
      for (const auto& [name, entry] : runs_) {
        total += entry->bytes;
        if (entry == just_used || entry->bytes == 0) continue;
        if (oldest == nullptr || entry->last_use < oldest->last_use) oldest = entry;
      }
      if (total <= options_.byte_budget || oldest == nullptr) return;
      oldest->bytes = 0;
      ++dropped_;
    }
    MutexLock lock(oldest->mutex);
    oldest->loader.Drop();
  }
}

void RunCatalog::Use(const EntryPtr& entry, const std::function<void(RunLoader&)>& read) {
  std::size_t bytes = 0;
  {
    MutexLock lock(entry->mutex);
    // The files may have grown.
    if (entry->loader.dropped()) Announce(entry->loader, entry->loader.Restore());
    read(entry->loader);
    bytes = entry->loader.Bytes();
  }
  {
    MutexLock lock(mutex_);
    entry->bytes = bytes;
    entry->last_use = ++uses_;
  }
  KeepWithinBudget(entry);
}

std::vector<RunCatalog::EntryPtr> RunCatalog::Entries() const {
  MutexLock lock(mutex_);
  std::vector<EntryPtr> entries;
  for (const auto& [name, entry] : runs_) entries.push_back(entry);
  return entries;
}

RunCatalog::RunInfo RunCatalog::Describe(Entry& entry) {
  MutexLock lock(entry.mutex);
  RunInfo info{.name = entry.loader.found().name,
               .files = entry.loader.files(),
               .tags = entry.loader.tags().size(),
               .bad_records = entry.loader.bad_records()};
  bool first = true;
  for (const auto& [name, tag] : entry.loader.tags()) {
    const SeriesSummary& summary = tag.series.summary();
    info.points += summary.points;
    info.last_step = first ? summary.last_step : std::max(info.last_step, summary.last_step);
    first = false;
  }
  return info;
}

std::vector<RunCatalog::RunInfo> RunCatalog::Runs() const {
  std::vector<RunInfo> runs;
  for (const EntryPtr& entry : Entries()) runs.push_back(Describe(*entry));
  std::stable_sort(runs.begin(), runs.end(), [](const RunInfo& a, const RunInfo& b) {
    return a.files.update_us > b.files.update_us;
  });
  return runs;
}

absl::StatusOr<RunCatalog::EntryPtr> RunCatalog::Find(std::string_view run) const {
  MutexLock lock(mutex_);
  if (const auto exact = runs_.find(run); exact != runs_.end()) return exact->second;
  std::vector<std::string> matches;
  EntryPtr match;
  for (auto it = runs_.lower_bound(run);
       it != runs_.end() && absl::StartsWith(it->first, Absl(run)); ++it) {
    matches.push_back(it->first);
    match = it->second;
  }
  if (matches.size() == 1 && !run.empty()) return match;
  if (matches.size() > 1 && !run.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("run \"", Absl(run), "\" matches ", NameSome(matches)));
  }
  return absl::NotFoundError(absl::StrCat("no run \"", Absl(run), "\" in ", options_.root));
}

absl::StatusOr<RunCatalog::RunInfo> RunCatalog::FindRun(std::string_view run) const {
  auto entry = Find(run);
  if (!entry.ok()) return entry.status();
  return Describe(**entry);
}

absl::StatusOr<std::vector<RunCatalog::TagInfo>> RunCatalog::Tags(std::string_view run) {
  auto entry = Find(run);
  if (!entry.ok()) return entry.status();
  std::vector<TagInfo> tags;
  MutexLock lock((*entry)->mutex);
  for (const auto& [name, tag] : (*entry)->loader.tags()) {
    tags.push_back({name, tag.plugin, tag.series.summary()});
  }
  return tags;
}

absl::StatusOr<RunCatalog::Series> RunCatalog::Scalars(std::string_view run, std::string_view tag,
                                                       std::size_t columns, std::int64_t first_step,
                                                       std::int64_t last_step) {
  auto entry = Find(run);
  if (!entry.ok()) return entry.status();
  Series result;
  absl::Status status;
  Use(*entry, [&](RunLoader& loader) {
    const auto found = loader.tags().find(tag);
    if (found == loader.tags().end()) {
      std::vector<std::string> names;
      for (const auto& [name, unused] : loader.tags()) names.push_back(name);
      status = absl::NotFoundError(absl::StrCat("no tag \"", Absl(tag), "\" in run ",
                                                loader.found().name, "; it has ", NameSome(names)));
      return;
    }
    const auto range = found->second.series.Range(first_step, last_step);
    result.run = loader.found().name;
    result.tag = found->first;
    result.total_points = found->second.series.summary().points;
    if (columns == 0) {
      result.points.assign(range.begin(), range.end());
    } else {
      result.columns = ReduceToColumns(range, columns);
    }
  });
  if (!status.ok()) return status;
  return result;
}

std::pair<std::string, RunCatalog::EntryPtr> RunCatalog::RunFromLevel(
    std::string_view level) const {
  MutexLock lock(mutex_);
  const auto found = runs_by_level_.lower_bound(level);
  if (found == runs_by_level_.end()) return {};
  return *found;
}

void RunCatalog::VisitTopics(
    std::string_view prefix, std::string_view after,
    const std::function<bool(const std::string& topic, std::uint64_t points)>& visit) const {
  // No topic that is wanted comes before this.
  const std::string_view from = std::max({prefix, after, kRoot});
  if (!from.starts_with(kRoot)) return;
  auto [level, tag] = SplitTopic(from);
  for (;;) {
    const std::pair<std::string, EntryPtr> run = RunFromLevel(level);
    const EntryPtr& entry = run.second;
    const std::string run_topic = absl::StrCat(Absl(kRoot), run.first);
    if (entry == nullptr || !(run_topic.starts_with(prefix) || prefix.starts_with(run_topic))) {
      return;
    }
    MutexLock lock(entry->mutex);
    const auto& tags = entry->loader.tags_by_level();
    for (auto it = run.first == level ? tags.lower_bound(tag) : tags.begin(); it != tags.end();
         ++it) {
      const std::string topic = run_topic + it->first;
      if (topic <= after) continue;
      if (!topic.starts_with(prefix)) return;
      if (!visit(topic, it->second->second.series.summary().points)) return;
    }
    level = run.first + '\0';  // The next one there can be.
  }
}

RunCatalog::Stretch RunCatalog::PointsAfter(std::string_view topic, std::uint64_t first,
                                            std::size_t limit, bool may_restore) {
  Stretch result;
  if (!topic.starts_with(kRoot)) return result;
  const auto [level, tag] = SplitTopic(topic);
  const std::pair<std::string, EntryPtr> run = RunFromLevel(level);
  const EntryPtr& entry = run.second;
  if (entry == nullptr || run.first != level) return result;
  const auto find = [&tag = tag](RunLoader& loader) -> const RunLoader::Tags::value_type* {
    const auto found = loader.tags_by_level().find(tag);
    return found == loader.tags_by_level().end() ? nullptr : &*found->second;
  };
  {
    MutexLock lock(entry->mutex);
    const auto* const known = find(entry->loader);
    if (known == nullptr || known->second.series.summary().points <= first) return result;
    result.restored = entry->loader.dropped();
    result.on_disk = result.restored && !may_restore;
    if (result.on_disk) return result;
  }
  Use(entry, [&](RunLoader& loader) {
    const auto* const known = find(loader);
    if (known == nullptr) return;
    const auto all = known->second.series.InFileOrder();
    if (all.size() <= first) return;
    const auto rest = all.subspan(first, std::min<std::size_t>(limit, all.size() - first));
    result.run = loader.found().name;
    result.tag = known->first;
    result.first = first;
    result.points.assign(rest.begin(), rest.end());
  });
  return result;
}

bool RunCatalog::scanned() const {
  MutexLock lock(mutex_);
  return scanned_;
}

RunCatalog::Stats RunCatalog::GetStats() const {
  Stats stats;
  for (const EntryPtr& entry : Entries()) {
    MutexLock lock(entry->mutex);
    ++stats.runs;
    stats.bytes += entry->loader.Bytes();
    stats.records += entry->loader.records();
    stats.bad_records += entry->loader.bad_records();
  }
  MutexLock lock(mutex_);
  stats.dropped = dropped_;
  return stats;
}

}  // namespace datamanager
