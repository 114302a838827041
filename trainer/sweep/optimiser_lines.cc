#include "trainer/sweep/optimiser_lines.h"

#include <set>
#include <utility>

#include "absl/status/status.h"

namespace trainer {

void OptimiserLines::SetTrials(LineReceiver* trials) {
  trials_ = trials;
  if (trials_ != nullptr && wanted_) trials_->OnWanted(wanted_);
  if (trials_ != nullptr && over_) trials_->OnOver(over_);
}

void OptimiserLines::Add(const std::string& nonce, TakeProgramLine take) {
  const AttemptKey key = {.trial = --last_};
  keys_[nonce] = key;
  programs_[key.trial] = std::move(take);
}

void OptimiserLines::Forget(const std::string& nonce) {
  const auto found = keys_.find(nonce);
  if (found == keys_.end() || programs_.erase(found->second.trial) == 0) return;
  gone_.push_back(nonce);
  if (gone_.size() <= kGoneKept) return;
  keys_.erase(gone_.front());
  gone_.pop_front();
}

void OptimiserLines::Want(const std::string& nonce) {
  const auto found = keys_.find(nonce);
  if (found != keys_.end() && wanted_) wanted_(found->second);
}

absl::StatusOr<AttemptKey> OptimiserLines::Greet(std::string_view nonce) {
  const auto found = keys_.find(nonce);
  if (found != keys_.end()) return found->second;
  if (trials_ == nullptr) return absl::PermissionDeniedError("there are no trials yet");
  return trials_->Greet(nonce);
}

absl::StatusOr<AttemptKey> OptimiserLines::Attach(const AttachRequest& request) {
  if (trials_ == nullptr) return absl::PermissionDeniedError("there are no trials yet");
  return trials_->Attach(request);
}

void OptimiserLines::OnAlive(const AttemptKey& attempt) {
  if (attempt.trial > 0 && trials_ != nullptr) trials_->OnAlive(attempt);
}

void OptimiserLines::OnConnection(const AttemptKey& attempt, bool is_open) {
  if (attempt.trial > 0 && trials_ != nullptr) trials_->OnConnection(attempt, is_open);
}

void OptimiserLines::OnOver(std::function<void(const AttemptKey&, const std::string& why)> over) {
  over_ = std::move(over);
  if (trials_ != nullptr) trials_->OnOver(over_);
}

std::vector<absl::StatusOr<std::string>> OptimiserLines::Receive(
    const std::vector<RelayedLine>& lines) {
  std::vector<absl::StatusOr<std::string>> answers(lines.size());
  std::vector<RelayedLine> of_trials;
  std::vector<std::size_t> places;
  std::set<std::int64_t> held;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::int64_t program = lines[i].attempt.trial;
    if (program > 0) {
      of_trials.push_back(lines[i]);
      places.push_back(i);
    } else if (held.contains(program)) {
      answers[i] = absl::UnavailableError("a line before it is held back");
    } else {
      answers[i] = TakeLine(lines[i]);
      if (absl::IsUnavailable(answers[i].status())) held.insert(program);
    }
  }
  if (of_trials.empty()) return answers;
  auto answered = trials_->Receive(of_trials);
  for (std::size_t i = 0; i < places.size(); ++i) answers[places[i]] = std::move(answered[i]);
  return answers;
}

absl::StatusOr<std::string> OptimiserLines::TakeLine(const RelayedLine& line) {
  const auto found = programs_.find(line.attempt.trial);
  if (found == programs_.end()) return line.is_end ? "" : R"({"t":"stop"})";
  const TakeProgramLine take = found->second;  // A copy: `take` may call Forget().
  return take(line);
}

void OptimiserLines::OnWanted(std::function<void(const AttemptKey&)> wanted) {
  wanted_ = std::move(wanted);
  if (trials_ != nullptr) trials_->OnWanted(wanted_);
}

}  // namespace trainer
