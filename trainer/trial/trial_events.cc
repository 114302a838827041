#include "trainer/trial/trial_events.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/text/json_value.h"

namespace trainer {
namespace {

// True if JSON contains NaN, Infinity or -Infinity, which not every program's parser accepts.
bool HasWordForNumber(const runtime::JsonValue& value) {
  if (value.IsNumber()) {
    return value.raw.find('N') != value.raw.npos || value.raw.find('I') != value.raw.npos;
  }
  return std::any_of(value.items.begin(), value.items.end(), HasWordForNumber) ||
         std::any_of(value.members.begin(), value.members.end(),
                     [](const auto& member) { return HasWordForNumber(member.second); });
}

}  // namespace

absl::StatusOr<std::string> CheckEvent(std::string_view event) {
  if (event.size() > TrialEvents::kMaxEvent) {
    return absl::InvalidArgumentError(
        absl::StrCat("the event has ", event.size(), " bytes, more than ", TrialEvents::kMaxEvent));
  }
  const auto json = runtime::ParseJson(event);
  if (!json.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the event is no JSON: ", json.status().message()));
  }
  if (HasWordForNumber(*json)) {
    return absl::InvalidArgumentError("the event is no JSON: NaN and Infinity are no numbers");
  }
  return runtime::CompactJson(*json);
}

absl::StatusOr<TrialEvents> TrialEvents::Load(TrialStore* store, std::int64_t trial) {
  const auto marks = store->EventMarksOf(trial);
  if (!marks.ok()) return marks.status();
  return TrialEvents(store, trial, *marks);
}

absl::StatusOr<std::int64_t> TrialEvents::Tell(const std::string& event,
                                               const std::string& request_id) {
  const auto known = store_->EventWith(request_id);
  if (!known.ok()) return known.status();
  if (known->has_value()) return (*known)->number;
  auto text = CheckEvent(event);
  if (!text.ok()) return text.status();
  if (waiting() >= kMaxWaiting) {
    return absl::ResourceExhaustedError(absl::StrCat(
        waiting(), " events wait for the program already: it reads them with its reports"));
  }
  const auto status = store_->InsertEvent({trial_, told_ + 1, *std::move(text), request_id});
  if (!status.ok()) return status;
  return ++told_;
}

std::string TrialEvents::TakeFor(int attempt, std::int64_t line, StoreBatch& batch) {
  if (draft_ == told_) return "";
  const auto events = store_->EventsAfter(trial_, draft_, kPerAnswer);
  if (!events.ok()) {
    LOG(ERROR) << events.status();
    return "";
  }
  std::string elements;
  for (const StoredEvent& event : *events) {
    absl::StrAppend(&elements, elements.empty() ? "" : ",", event.text);
  }
  if (events->empty()) return elements;
  batch.deliveries.push_back(
      {trial_, events->front().number, events->back().number, attempt, line});
  draft_ = events->back().number;
  return elements;
}

}  // namespace trainer
