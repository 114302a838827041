#include "launcher/share/barriers.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace launcher {
namespace {

constexpr std::size_t kMaxTickets = 16;  // For each task at a barrier.
constexpr std::size_t kNamed = 3;
constexpr std::size_t kMaxParties = 2000;

bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= Barriers::kMaxName &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
}

std::vector<Barriers::Answer> One(Barriers::Ticket ticket, absl::StatusOr<int> place) {
  std::vector<Barriers::Answer> answers;
  answers.push_back({ticket, std::move(place)});
  return answers;
}

void Append(std::vector<Barriers::Answer> from, std::vector<Barriers::Answer>* to) {
  std::move(from.begin(), from.end(), std::back_inserter(*to));
}

}  // namespace

Barriers::Barriers(const std::vector<std::string>& tasks) : tasks_(tasks) {
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const int task = static_cast<int>(i);
    by_name_[tasks_[i]] = task;
    by_type_[tasks_[i].substr(0, tasks_[i].rfind('-'))].push_back(task);
  }
}

absl::StatusOr<std::vector<int>> Barriers::Parties(const std::vector<std::string>& names) const {
  if (names.size() > kMaxParties) {
    return absl::InvalidArgumentError(absl::StrCat("parties: more than ", kMaxParties));
  }
  std::set<int> parties;
  for (const auto& name : names) {
    if (const auto task = by_name_.find(name); task != by_name_.end()) {
      parties.insert(task->second);
    } else if (const auto type = by_type_.find(name); type != by_type_.end()) {
      parties.insert(type->second.begin(), type->second.end());
    } else {
      return absl::InvalidArgumentError(absl::StrCat("parties: the job has no task or type \"",
                                                     absl::CHexEscape(name.substr(0, kMaxName)),
                                                     "\""));
    }
  }
  if (names.empty()) {
    for (const auto& [name, task] : by_name_) parties.insert(task);
  }
  return std::vector<int>(parties.begin(), parties.end());
}

// Finds or makes a barrier. An idle barrier is kept only to repeat lost answers, so at the limit
// the one that was used least recently is dropped.
absl::StatusOr<Barriers::Barrier*> Barriers::Find(const std::string& name) {
  if (!IsName(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("name: from 1 to ", kMaxName, " bytes without control characters"));
  }
  if (!barriers_.contains(name) && barriers_.size() >= kMaxBarriers) {
    auto oldest = barriers_.end();
    for (auto at = barriers_.begin(); at != barriers_.end(); ++at) {
      if (!at->second.IsIdle()) continue;
      if (oldest == barriers_.end() || at->second.used < oldest->second.used) oldest = at;
    }
    if (oldest == barriers_.end()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the job's tasks wait at ", kMaxBarriers, " barriers already"));
    }
    barriers_.erase(oldest);
  }
  Barrier& barrier = barriers_[name];
  barrier.used = ++last_use_;
  return &barrier;
}

std::string Barriers::Names(const std::vector<int>& tasks) const {
  std::vector<std::string> names;
  for (const int task : tasks) {
    if (names.size() < kNamed) names.push_back(tasks_[static_cast<std::size_t>(task)]);
  }
  std::string text = absl::StrJoin(names, ", ");
  if (tasks.size() > names.size()) {
    absl::StrAppend(&text, " and ", tasks.size() - names.size(), " more");
  }
  return text;
}

absl::Status Barriers::CheckParties(const Arrival& arrival, int task,
                                    const std::vector<int>& parties, const Barrier& barrier) const {
  if (!std::binary_search(parties.begin(), parties.end(), task)) {
    return absl::InvalidArgumentError(
        absl::StrCat("parties: ", arrival.task, " is not among them"));
  }
  if (!barrier.waiting.empty() && barrier.parties != parties) {
    return absl::InvalidArgumentError(
        absl::StrCat("parties: ", Names(parties), ", but at barrier \"", arrival.name,
                     "\" somebody waits for ", Names(barrier.parties)));
  }
  return absl::OkStatus();
}

std::vector<Barriers::Answer> Barriers::Arrive(const Arrival& arrival, absl::Duration now) {
  const auto known = by_name_.find(arrival.task);
  if (known == by_name_.end()) {
    return One(arrival.ticket, absl::InvalidArgumentError(absl::StrCat(
                                   "task: the job has no task \"",
                                   absl::CHexEscape(arrival.task.substr(0, kMaxName)), "\"")));
  }
  const int task = known->second;
  const auto parties = Parties(arrival.parties);
  if (!parties.ok()) return One(arrival.ticket, parties.status());
  const auto found = Find(arrival.name);
  if (!found.ok()) return One(arrival.ticket, found.status());
  Barrier& barrier = **found;
  const auto past = barrier.past.find(task);
  if (!arrival.id.empty() && past != barrier.past.end() && past->second.id == arrival.id) {
    return One(arrival.ticket, past->second.place);
  }
  if (auto bad = CheckParties(arrival, task, *parties, barrier); !bad.ok()) {
    return One(arrival.ticket, bad);
  }
  if (!barrier.broken.ok()) return One(arrival.ticket, barrier.broken);
  const bool limited =
      arrival.timeout > absl::ZeroDuration() && arrival.timeout < absl::InfiniteDuration();
  const auto [waiting, is_new] = barrier.waiting.try_emplace(
      task, Waiting{arrival.id,
                    static_cast<int>(barrier.waiting.size()),
                    {},
                    now,
                    limited ? now + arrival.timeout : absl::InfiniteDuration()});
  if (waiting->second.tickets.size() >= kMaxTickets) {
    return One(arrival.ticket, absl::ResourceExhaustedError(absl::StrCat(
                                   arrival.task, " has come ", kMaxTickets, " times already")));
  }
  waiting->second.tickets.push_back(arrival.ticket);
  barrier.parties = *parties;
  for (const int party : *parties) {
    const auto ended = ended_.find(party);
    if (ended == ended_.end()) continue;
    return Break(arrival.name, barrier,
                 absl::StrCat(Names({party}), " has ended: ", ended->second));
  }
  if (barrier.waiting.size() < parties->size()) return {};
  return Complete(barrier);
}

std::vector<Barriers::Answer> Barriers::Complete(Barrier& barrier) {
  std::vector<Answer> answers;
  for (const auto& [task, waiting] : barrier.waiting) {
    barrier.past[task] = {waiting.id, waiting.place};
    for (const Ticket ticket : waiting.tickets) answers.push_back({ticket, waiting.place});
  }
  barrier.waiting.clear();
  return answers;
}

std::vector<Barriers::Answer> Barriers::Break(const std::string& name, Barrier& barrier,
                                              const std::string& why) {
  barrier.broken =
      absl::FailedPreconditionError(absl::StrCat("barrier \"", name, "\" is broken: ", why));
  std::vector<Answer> answers;
  for (const auto& [task, waiting] : barrier.waiting) {
    for (const Ticket ticket : waiting.tickets) answers.push_back({ticket, barrier.broken});
  }
  barrier.waiting.clear();
  return answers;
}

std::vector<Barriers::Answer> Barriers::Expire(absl::Duration now) {
  std::vector<Answer> answers;
  for (auto& [name, barrier] : barriers_) {
    const auto first = std::min_element(
        barrier.waiting.begin(), barrier.waiting.end(),
        [](const auto& a, const auto& b) { return a.second.until < b.second.until; });
    if (first == barrier.waiting.end() || first->second.until > now) continue;
    std::vector<int> missing;
    for (const int party : barrier.parties) {
      if (!barrier.waiting.contains(party)) missing.push_back(party);
    }
    const Waiting expired = first->second;
    const std::string why =
        absl::StrCat(Names({first->first}), " waited ",
                     absl::FormatDuration(expired.until - expired.since), " for ", Names(missing));
    auto broken = Break(name, barrier, why);
    for (Answer& answer : broken) {
      const auto& own = expired.tickets;
      if (std::find(own.begin(), own.end(), answer.ticket) == own.end()) continue;
      answer.place = absl::DeadlineExceededError(barrier.broken.message());
    }
    Append(std::move(broken), &answers);
  }
  return answers;
}

absl::Duration Barriers::NextTimeout() const {
  absl::Duration next = absl::InfiniteDuration();
  for (const auto& [name, barrier] : barriers_) {
    for (const auto& [task, waiting] : barrier.waiting) next = std::min(next, waiting.until);
  }
  return next;
}

std::vector<Barriers::Answer> Barriers::TaskEnded(const std::string& task, const std::string& how) {
  const auto known = by_name_.find(task);
  if (known == by_name_.end()) return {};
  ended_[known->second] = how;
  std::vector<Answer> answers;
  for (auto& [name, barrier] : barriers_) {
    if (barrier.waiting.empty()) continue;
    const auto& parties = barrier.parties;
    if (!std::binary_search(parties.begin(), parties.end(), known->second)) continue;
    Append(Break(name, barrier, absl::StrCat(task, " has ended: ", how)), &answers);
  }
  return answers;
}

void Barriers::TaskStarted(const std::string& task) {
  const auto known = by_name_.find(task);
  if (known != by_name_.end()) ended_.erase(known->second);
}

std::vector<Barriers::Answer> Barriers::Reset() {
  std::vector<Answer> answers;
  for (auto& [name, barrier] : barriers_) {
    for (const auto& [task, waiting] : barrier.waiting) {
      for (const Ticket ticket : waiting.tickets) {
        answers.push_back({ticket, absl::CancelledError("the job starts anew")});
      }
    }
  }
  barriers_.clear();
  ended_.clear();
  return answers;
}

}  // namespace launcher
