#include "trainer/table/trial_table.h"

#include <malloc.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/text/name_search.h"
#include "runtime/text/random_id.h"
#include "runtime/text/string_view.h"
#include "trainer/trial/trial_message.h"

namespace trainer {
namespace {

// Up to this many trials at hand, returning memory is not worth its time.
constexpr std::size_t kFewAtHand = 64;

absl::Status NoTrial(std::string_view id) {
  return absl::NotFoundError(absl::StrCat("no trial ", runtime::Absl(id)));
}

}  // namespace

Trial* TrialTable::AtHand(std::int64_t number) {
  const auto found = at_hand_.find(number);
  return found == at_hand_.end() ? nullptr : &found->second;
}

Trial* TrialTable::AtHand(std::string_view id) {
  const auto found = ids_.find(id);
  return found == ids_.end() ? nullptr : &at_hand_.at(found->second);
}

const Trial* TrialTable::AtHand(std::string_view id) const {
  const auto found = ids_.find(id);
  return found == ids_.end() ? nullptr : &at_hand_.at(found->second);
}

const Trial* TrialTable::WithRequest(const std::string& request_id) const {
  const auto found = requests_.find(request_id);
  return found == requests_.end() ? nullptr : &at_hand_.at(found->second);
}

absl::StatusOr<Trial*> TrialTable::ById(std::string_view id) {
  if (Trial* const trial = AtHand(id)) return trial;
  const EndedTrial* const ended = ended_.ById(id);
  if (ended == nullptr) return NoTrial(id);
  return Recall(*ended);
}

absl::StatusOr<Trial*> TrialTable::ByNumber(std::int64_t number) {
  if (Trial* const trial = AtHand(number)) return trial;
  const EndedTrial* const ended = ended_.ByNumber(number);
  if (ended == nullptr) return absl::NotFoundError(absl::StrCat("no trial number ", number));
  return Recall(*ended);
}

absl::StatusOr<std::int64_t> TrialTable::NumberOf(std::string_view id) const {
  if (const auto found = ids_.find(id); found != ids_.end()) return found->second;
  if (const EndedTrial* const ended = ended_.ById(id)) return ended->number();
  return NoTrial(id);
}

absl::StatusOr<std::string> TrialTable::IdOf(std::string_view name) const {
  if (NumberOf(name).ok()) return std::string(name);
  runtime::NameSearch search(name);
  for (const auto& [number, trial] : ended_.all()) {
    search.LookAt(false, number, trial.id(), trial.name());
  }
  for (const auto& [number, trial] : at_hand_) {
    search.LookAt(!HasEnded(trial.record), number, trial.record.id(), trial.record.spec.name);
  }
  return search.Found(absl::StrCat("no trial is called ", runtime::Absl(name)));
}

void TrialTable::VisitNames(const std::function<void(std::string_view id, std::string_view name,
                                                     msg::TrialState state)>& visit) const {
  for (auto at = at_hand_.rbegin(); at != at_hand_.rend(); ++at) {
    const TrialRecord& record = at->second.record;
    visit(record.id(), record.spec.name, record.state);
  }
  const auto& ended = ended_.all();
  for (auto at = ended.rbegin(); at != ended.rend(); ++at) {
    visit(at->second.id(), at->second.name(), at->second.state());
  }
}

std::set<std::int64_t> TrialTable::LastEnded(std::size_t count) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> by_end;
  for (const EndedTrial* const trial : ended_.Latest(count > 0 ? count : ended_.size())) {
    by_end.emplace_back(trial->changed_us(), trial->number());
  }
  for (const auto& [number, trial] : at_hand_) {
    if (HasEnded(trial.record)) by_end.emplace_back(trial.changed_us, number);
  }
  std::sort(by_end.begin(), by_end.end(), std::greater<>());
  if (count > 0 && by_end.size() > count) by_end.resize(count);
  std::set<std::int64_t> numbers;
  for (const auto& [end_us, number] : by_end) numbers.insert(number);
  return numbers;
}

std::optional<TrialTable::Holder> TrialTable::HolderOf(std::string_view run_directory) const {
  for (const auto& [number, trial] : at_hand_) {
    if (trial.record.spec.run_directory != run_directory) continue;
    return Holder{trial.record.id(), trial.record.state};
  }
  for (const auto& [number, trial] : ended_.all()) {
    if (trial.run_directory() != run_directory) continue;
    return Holder{std::string(trial.id()), trial.state()};
  }
  return std::nullopt;
}

std::string TrialTable::FreeId() const {
  for (;;) {
    std::string id = runtime::RandomName("t-");
    if (!NumberOf(id).ok()) return id;
  }
}

const Trial* TrialTable::AtHandOrNull(std::optional<std::int64_t> number) const {
  return number ? &at_hand_.at(*number) : nullptr;
}

const Trial* TrialTable::StartingFrom(std::string_view id) const {
  return AtHandOrNull(starts_.FromTrial(
      std::string(id), [this](std::int64_t number) { return NeedsItsStart(at_hand_.at(number)); }));
}

const Trial* TrialTable::Restoring(const std::string& directory) const {
  return AtHandOrNull(starts_.FromDirectory(
      directory, [this](std::int64_t number) { return NeedsItsStart(at_hand_.at(number)); }));
}

absl::StatusOr<msg::TrialT> TrialTable::MessageOf(const EndedTrial& ended) const {
  if (auto message = ended.Message()) return *std::move(message);
  const auto record = options_.store->LoadTrial(ended.number());
  if (!record.ok()) return record.status();
  return StoredMessage(*record);
}

absl::StatusOr<msg::TrialT> TrialTable::StoredMessage(const TrialRecord& record) const {
  const auto last = options_.store->LastRow(record.number);
  if (!last.ok()) return last.status();
  const auto newest = options_.store->NewestCheckpoint(record.number);
  if (!newest.ok()) return newest.status();
  return WholeMessage(record, *last, *newest);
}

absl::StatusOr<Trial*> TrialTable::Add(TrialRecord record) {
  auto reports = options_.load_reports(record);
  if (!reports.ok()) return reports.status();
  const std::int64_t number = record.number;
  requests_[record.request_id] = number;
  ids_[record.id()] = number;
  Trial& trial = at_hand_[number];
  trial.record = std::move(record);
  trial.reports = *std::move(reports);
  starts_.Add(number, trial.record.spec);
  if (HasEnded(trial.record)) trial.record.spec.environment.clear();
  // The diff is in the run's directory by now, and may be large.
  if (trial.record.started_us > 0) trial.record.spec.options.provenance_diff.clear();
  Count();
  return &trial;
}

absl::Status TrialTable::AddEnded(const TrialRecord& record) {
  const auto message = StoredMessage(record);
  if (!message.ok()) return message.status();
  ended_.Add({record.number, record.ended_us, record.request_id}, *message);
  Count();
  return absl::OkStatus();
}

absl::StatusOr<Trial*> TrialTable::Recall(const EndedTrial& ended) {
  const std::int64_t number = ended.number();
  const std::int64_t changed_us = ended.changed_us();
  auto record = options_.store->LoadTrial(number);
  auto trial = record.ok() ? Add(*std::move(record)) : absl::StatusOr<Trial*>(record.status());
  if (!trial.ok()) {
    LOG_EVERY_N(ERROR, 20) << "trial " << ended.id() << ": " << trial.status();
    return absl::UnavailableError(absl::StrCat("cannot read trial ", runtime::Absl(ended.id()),
                                               ": ", trial.status().message()));
  }
  ended_.Remove(number);
  Count();
  (*trial)->changed_us = changed_us;
  options_.on_recalled();
  return trial;
}

void TrialTable::PutAside(std::int64_t number, const msg::TrialT& message) {
  const auto place = at_hand_.find(number);
  const Trial& trial = place->second;
  ended_.Add({number, trial.changed_us, trial.record.request_id}, message);
  RemoveAtHand(place);
}

void TrialTable::Remove(std::int64_t number) {
  if (const auto found = at_hand_.find(number); found != at_hand_.end()) RemoveAtHand(found);
  ended_.Remove(number);
  Count();
}

void TrialTable::RemoveAtHand(std::map<std::int64_t, Trial>::iterator place) {
  requests_.erase(place->second.record.request_id);
  ids_.erase(place->second.record.id());
  starts_.Remove(place->first);
  at_hand_.erase(place);
}

void TrialTable::ReturnMemory() {
  if (most_at_hand_ <= 2 * at_hand_.size() + kFewAtHand) return;
  most_at_hand_ = at_hand_.size();
  (void)malloc_trim(0);
}

void TrialTable::Count() {
  count_ = at_hand_.size() + ended_.size();
  most_at_hand_ = std::max(most_at_hand_, at_hand_.size());
}

}  // namespace trainer
