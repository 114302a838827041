#include "datamanager/catalog/run_table.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/wire/topic.h"
#include "runtime/counted.h"
#include "runtime/text/string_view.h"

// Always true:
// - runs_ and runs_by_level_ contain the same runs.
// - A removed run leaves its generation in generations_, so that positions of its points are
//   invalid in another run of the same name.

namespace datamanager {
namespace {

using runtime::Absl;
using runtime::MutexLock;

constexpr std::size_t kNamesInAnError = 8;
constexpr std::size_t kMostRemembered = 100'000;

std::string NameSome(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  const std::size_t shown = std::min(names.size(), kNamesInAnError);
  std::string text =
      absl::StrJoin(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", ");
  if (shown < names.size()) absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return text;
}

std::string LevelOf(const std::string& run) { return absl::StrCat(bus::EncodeLevel(run), "/"); }

}  // namespace

void RunTable::Insert(const CatalogRunPtr& run) {
  MutexLock lock(mutex_);
  runs_[run->name] = run;
  runs_by_level_.try_emplace(LevelOf(run->name), run);
}

void RunTable::Erase(const CatalogRunPtr& run, std::uint64_t generation) {
  MutexLock lock(mutex_);
  runs_.erase(run->name);
  const auto level = runs_by_level_.find(LevelOf(run->name));
  if (level != runs_by_level_.end() && level->second == run) runs_by_level_.erase(level);
  if (generations_.size() >= kMostRemembered) generations_.erase(generations_.begin());
  generations_[run->name] = generation;
}

std::uint64_t RunTable::NextGeneration(const std::string& name) const {
  MutexLock lock(mutex_);
  const auto known = generations_.find(name);
  return known == generations_.end() ? 0 : known->second + 1;
}

CatalogRunPtr RunTable::Find(std::string_view name) const {
  MutexLock lock(mutex_);
  const auto found = runs_.find(name);
  return found == runs_.end() ? nullptr : found->second;
}

std::vector<CatalogRunPtr> RunTable::All() const {
  MutexLock lock(mutex_);
  std::vector<CatalogRunPtr> all;
  all.reserve(runs_.size());
  for (const auto& [name, run] : runs_) all.push_back(run);
  return all;
}

std::pair<std::string, CatalogRunPtr> RunTable::FindFromLevel(std::string_view level) const {
  MutexLock lock(mutex_);
  const auto found = runs_by_level_.lower_bound(level);
  if (found == runs_by_level_.end()) return {};
  return *found;
}

absl::StatusOr<std::string> RunTable::FindName(std::string_view run) const {
  MutexLock lock(mutex_);
  if (runs_.find(run) != runs_.end()) return std::string(run);
  if (!scanned_) return BeingScanned();
  std::vector<std::string> matches;
  for (auto it = runs_.lower_bound(run);
       !run.empty() && it != runs_.end() && absl::StartsWith(it->first, Absl(run)); ++it) {
    matches.push_back(it->first);
  }
  if (matches.size() == 1) return matches.front();
  if (matches.size() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("run \"", Absl(run), "\" matches ", NameSome(matches)));
  }
  return absl::NotFoundError(absl::StrCat("no run \"", Absl(run), "\" in ", root_));
}

absl::StatusOr<std::vector<std::string>> RunTable::Names() const {
  MutexLock lock(mutex_);
  if (!scanned_) return BeingScanned();
  std::vector<std::string> names;
  names.reserve(runs_.size());
  for (const auto& [name, run] : runs_) names.push_back(name);
  return names;
}

void RunTable::SetScanned(const RunTree::Unreadable& unreadable) {
  MutexLock lock(mutex_);
  if (!unreadable.root) scanned_ = true;
  scan_ended_ = true;
  no_wait_for_scan_.SignalAll();
  unreadable_ = unreadable;
}

void RunTable::OnEvent(ManagerEvent event) {
  MutexLock lock(mutex_);
  status_ = After(status_, event);
}

RunTable::ScanStatus RunTable::GetScanStatus() const {
  MutexLock lock(mutex_);
  return {.state = status_.now, .unreadable = unreadable_};
}

bool RunTable::scanned() const {
  MutexLock lock(mutex_);
  return scanned_;
}

absl::Status RunTable::CheckScanned() const {
  MutexLock lock(mutex_);
  return scanned_ ? absl::OkStatus() : BeingScanned();
}

absl::Status RunTable::BeingScanned() const {
  if (unreadable_.root) return absl::UnavailableError(unreadable_.reasons.front().message());
  return absl::UnavailableError(
      absl::StrCat("runs are being looked for in ", root_, " for the first time, in ",
                   runtime::Counted(looked_into_, "directory", "directories"), " so far"));
}

bool RunTable::AwaitScan(absl::Duration timeout) const {
  const absl::Duration deadline = clock_->Monotonic() + timeout;
  MutexLock lock(mutex_);
  while (!scan_ended_ && !stopped_) {
    if (!clock_->WaitUntil(no_wait_for_scan_, mutex_, deadline)) break;
  }
  return scan_ended_;
}

void RunTable::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  no_wait_for_scan_.SignalAll();
}

}  // namespace datamanager
