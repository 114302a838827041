#include "datamanager/brief/brief_cache.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/text/string_view.h"

namespace datamanager {

using runtime::Absl;
using runtime::MutexLock;

namespace {

constexpr std::size_t kNamesInAnError = 5;

// Runs an updater. Returns true for a failure other than the previous one.
bool Update(const BriefCache::Updater& updater, BriefItem& item, absl::Status* status) {
  *status = item.UnderLockOf(updater.name, [&] { return updater.update(item); });
  if (!status->ok()) return item.Fail(updater.name, *status);
  item.Recovered(updater.name);
  return false;
}

void Warn(const BriefCache::Updater& updater, std::size_t failures, const std::string& run,
          const absl::Status& first) {
  LOG(WARNING) << "The " << updater.name << " of " << failures << (failures == 1 ? " run" : " runs")
               << " cannot be updated and is missing, first of \"" << run << "\": " << first;
}

}  // namespace

BriefCache::BriefCache(std::function<absl::Status(BriefItem& item)> lineage)
    : newest_first_(std::make_shared<const Items>()) {
  updaters_.push_back({std::string(kLineage), std::move(lineage)});
}

void BriefCache::Register(Updater updater) {
  MutexLock lock(mutex_);
  for (Updater& registered : updaters_) {
    if (registered.name != updater.name) continue;
    registered = std::move(updater);
    return;
  }
  updaters_.push_back(std::move(updater));
}

void BriefCache::Merge(std::span<const ListedRunPtr> runs) {
  MutexLock lock(mutex_);
  std::map<std::string, BriefItemPtr, std::less<>> merged;
  for (const ListedRunPtr& run : runs) {
    BriefItemPtr item;
    if (const auto found = by_name_.find(run->name); found != by_name_.end()) {
      const ListedRunPtr known = found->second->run();
      if (known->identity == run->identity) item = found->second;
      if (item != nullptr && known != run) item->SetRun(run);
    }
    if (item == nullptr) item = std::make_shared<BriefItem>(run);
    merged.insert_or_assign(merged.end(), run->name, std::move(item));
  }
  by_name_.swap(merged);
  merged_ = true;
  SortItems();
}

void BriefCache::SortItems() {
  std::vector<std::pair<ListedRunPtr, BriefItemPtr>> order;
  order.reserve(by_name_.size());
  for (const auto& [name, item] : by_name_) order.emplace_back(item->run(), item);
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return IsNewer(*a.first, *b.first); });
  auto items = std::make_shared<Items>();
  items->reserve(order.size());
  for (auto& entry : order) items->push_back(std::move(entry.second));
  newest_first_ = std::move(items);
}

bool BriefCache::merged() const {
  MutexLock lock(mutex_);
  return merged_;
}

BriefCache::Updates BriefCache::UpdateAll(const std::function<bool()>& wanted) {
  std::vector<Updater> updaters;
  std::shared_ptr<const Items> items;
  {
    MutexLock lock(mutex_);
    updaters = updaters_;
    items = newest_first_;
  }
  Updates all;
  for (const Updater& updater : updaters) {
    std::size_t news = 0;
    std::string run;
    absl::Status first;
    for (const BriefItemPtr& item : *items) {
      if (!wanted()) break;
      absl::Status status;
      if (Update(updater, *item, &status) && news++ == 0) {
        run = item->run()->name;
        first = status;
      }
      ++(status.ok() ? all.done : all.failed);
    }
    if (news != 0) Warn(updater, news, run, first);
    all.newly_failed += news;
  }
  return all;
}

BriefCache::Items BriefCache::items() const {
  MutexLock lock(mutex_);
  return *newest_first_;
}

absl::StatusOr<BriefItemPtr> BriefCache::Find(std::string_view run) const {
  MutexLock lock(mutex_);
  if (const auto exact = by_name_.find(run); exact != by_name_.end()) return exact->second;
  std::vector<std::string> names;
  std::size_t matches = 0;
  BriefItemPtr match;
  for (auto it = by_name_.lower_bound(run);
       !run.empty() && it != by_name_.end() && absl::StartsWith(it->first, Absl(run)); ++it) {
    if (++matches <= kNamesInAnError) names.push_back(it->first);
    match = it->second;
  }
  if (matches == 1) return match;
  if (matches == 0) return absl::NotFoundError(absl::StrCat("no run \"", Absl(run), "\""));
  return absl::FailedPreconditionError(absl::StrCat(
      "run \"", Absl(run), "\" matches ", absl::StrJoin(names, ", "),
      matches > names.size() ? absl::StrCat(" and ", matches - names.size(), " more") : ""));
}

}  // namespace datamanager
