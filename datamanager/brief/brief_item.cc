#include "datamanager/brief/brief_item.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"

namespace datamanager {

using runtime::Absl;
using runtime::MutexLock;

namespace {

absl::Status TooManyKeys(std::string_view key) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "cannot keep ", Absl(key), " of a run: more than ", BriefItem::kMaxKeys, " keys"));
}

}  // namespace

ListedRunPtr BriefItem::run() const {
  MutexLock lock(mutex_);
  return run_;
}

void BriefItem::SetRun(ListedRunPtr run) {
  MutexLock lock(mutex_);
  run_ = std::move(run);
}

BriefItem::Slot* BriefItem::SlotOf(std::string_view key) {
  const auto found = slots_.find(key);
  if (found != slots_.end()) return &found->second;
  if (slots_.size() >= kMaxKeys) return nullptr;
  return &slots_.try_emplace(std::string(key)).first->second;
}

absl::Status BriefItem::SetAny(std::string_view key, std::any content) {
  MutexLock lock(mutex_);
  Slot* const slot = SlotOf(key);
  if (slot == nullptr) return TooManyKeys(key);
  slot->content.swap(content);
  slot->failure = absl::OkStatus();
  return absl::OkStatus();
}

std::any BriefItem::GetAny(std::string_view key) const {
  MutexLock lock(mutex_);
  const auto found = slots_.find(key);
  return found == slots_.end() ? std::any() : found->second.content;
}

absl::Status BriefItem::Delete(std::string_view key, Missing missing) {
  {
    MutexLock lock(mutex_);
    const auto found = slots_.find(key);
    if (found != slots_.end() && found->second.content.has_value()) {
      found->second.content.reset();
      return absl::OkStatus();
    }
  }
  return missing == Missing::kNothing ? absl::OkStatus() : MissingError(key);
}

absl::Status BriefItem::UnderLockOf(std::string_view key,
                                    const std::function<absl::Status()>& work) {
  Slot* slot = nullptr;
  {
    MutexLock lock(mutex_);
    slot = SlotOf(key);
  }
  if (slot == nullptr) return TooManyKeys(key);
  MutexLock lock(slot->work);
  return work();
}

bool BriefItem::Fail(std::string_view key, const absl::Status& why) {
  MutexLock lock(mutex_);
  Slot* const slot = SlotOf(key);
  if (slot == nullptr) return true;  // The failure cannot be stored.
  slot->content.reset();
  const bool other = slot->failure != why;
  slot->failure = why;
  return other;
}

void BriefItem::Recovered(std::string_view key) {
  MutexLock lock(mutex_);
  const auto found = slots_.find(key);
  if (found != slots_.end()) found->second.failure = absl::OkStatus();
}

std::map<std::string, absl::Status> BriefItem::Failures() const {
  std::map<std::string, absl::Status> failures;
  MutexLock lock(mutex_);
  for (const auto& [key, slot] : slots_) {
    if (!slot.failure.ok()) failures.emplace(key, slot.failure);
  }
  return failures;
}

absl::Status BriefItem::MissingError(std::string_view key) const {
  MutexLock lock(mutex_);
  const auto found = slots_.find(key);
  const bool failed = found != slots_.end() && !found->second.failure.ok();
  return absl::NotFoundError(
      absl::StrCat("no ", Absl(key), " of run \"", run_->name, "\"", failed ? ": " : "",
                   failed ? found->second.failure.message() : absl::string_view()));
}

absl::Status BriefItem::TypeError(std::string_view key) const {
  return absl::FailedPreconditionError(
      absl::StrCat("the ", Absl(key), " of run \"", run()->name, "\" is of another type"));
}

}  // namespace datamanager
