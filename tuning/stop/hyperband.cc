#include "tuning/stop/hyperband.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace tuning {

absl::StatusOr<Hyperband> Hyperband::Create(Options options) {
  if (!(options.eta > 1) || !std::isfinite(options.eta)) {
    return absl::InvalidArgumentError(absl::StrCat("eta is ", options.eta, "; it is above 1"));
  }
  if (!(options.max_resource > 1) || !(options.max_resource <= 1e9)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the end is at ", options.max_resource, "; it is above 1 and at most 1e9"));
  }
  return Hyperband(options);
}

Hyperband::Hyperband(Options options) : options_(options) {
  const int most =
      static_cast<int>(std::round(std::log(options.max_resource) / std::log(options.eta)));
  for (int s = most; s >= 0; --s) {
    const double trials = (most + 1.0) / (s + 1.0) * std::pow(options.eta, s);
    Kind kind = {.trials = static_cast<std::size_t>(std::ceil(trials - 1e-9))};
    for (int power = s; power > 0; --power) {
      const double level = std::round(options.max_resource / std::pow(options.eta, power));
      if (level < 1 || level >= options.max_resource) continue;
      if (kind.levels.empty() || level > kind.levels.back()) kind.levels.push_back(level);
    }
    kinds_.push_back(std::move(kind));
  }
}

Hyperband::Bracket& Hyperband::BracketOf(std::uint64_t trial) {
  while (brackets_.empty() || brackets_.back().end <= trial) {
    const std::size_t kind = brackets_.size() % kinds_.size();
    const std::uint64_t first = brackets_.empty() ? 0 : brackets_.back().end;
    brackets_.push_back({.first = first, .end = first + kinds_[kind].trials, .kind = kind});
  }
  return *std::upper_bound(
      brackets_.begin(), brackets_.end(), trial,
      [](std::uint64_t number, const Bracket& bracket) { return number < bracket.end; });
}

// Returns true if all trials that the bracket waits for have arrived; numbers from `begun` on will
// not start.
bool Hyperband::IsComplete(const Bracket& bracket, std::uint64_t begun) const {
  if (bracket.arrived.empty()) return false;
  const std::uint64_t end = std::min(bracket.end, begun);
  return bracket.arrived.size() + bracket.out.size() >= end - bracket.first;
}

void Hyperband::Halve(Bracket& bracket) {
  std::vector<std::pair<double, std::uint64_t>> order;
  for (const auto& [trial, value] : bracket.arrived) {
    order.emplace_back(std::isnan(value) ? std::numeric_limits<double>::infinity() : value, trial);
  }
  std::sort(order.begin(), order.end());
  const auto keeps = std::max<std::size_t>(
      1, static_cast<std::size_t>(static_cast<double>(order.size()) / options_.eta + 1e-9));
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint64_t trial = order[i].second;
    const bool goes_on = i < keeps && !std::isnan(bracket.arrived[trial]);
    fates_.push_back({trial, goes_on});
    if (!goes_on) bracket.out.insert(trial);
  }
  bracket.arrived.clear();
  ++bracket.level;
}

std::optional<Hyperband::Arrival> Hyperband::Report(std::uint64_t trial, double resource,
                                                    double value, std::optional<Verdict> decided) {
  if (off_) return std::nullopt;
  Bracket& bracket = BracketOf(trial);
  const std::vector<double>& levels = kinds_[bracket.kind].levels;
  if (bracket.level >= levels.size() || resource < levels[bracket.level] ||
      bracket.out.contains(trial) || bracket.arrived.contains(trial)) {
    return std::nullopt;
  }
  Arrival arrival = {.level = levels[bracket.level]};
  bracket.arrived.emplace(trial, value);
  arrival.count = bracket.arrived.size();
  for (const auto& [other, its] : bracket.arrived) {
    arrival.rank += its < value || (its == value && other <= trial) || std::isnan(value) ? 1 : 0;
  }
  arrival.keeps = std::max<std::size_t>(
      1, static_cast<std::size_t>(static_cast<double>(arrival.count) / options_.eta + 1e-9));
  if (IsComplete(bracket, bracket.end)) {
    Halve(bracket);
    const auto own = std::find_if(fates_.begin(), fates_.end(),
                                  [&](const Fate& fate) { return fate.trial == trial; });
    arrival.verdict = own->goes_on ? Verdict::kGoesOn : Verdict::kStops;
    fates_.erase(own);
  }
  if (decided) arrival.verdict = *decided;
  return arrival;
}

void Hyperband::End(std::uint64_t trial) {
  Bracket& bracket = BracketOf(trial);
  bracket.arrived.erase(trial);
  bracket.out.insert(trial);
  std::erase_if(fates_, [&](const Fate& fate) { return fate.trial == trial; });
  if (IsComplete(bracket, bracket.end)) Halve(bracket);
}

std::optional<Hyperband::Fate> Hyperband::Next(std::uint64_t begun, bool more_come) {
  if (off_) return std::nullopt;
  if (fates_.empty() && !more_come) {
    for (Bracket& bracket : brackets_) {
      if (IsComplete(bracket, begun)) Halve(bracket);
    }
  }
  if (fates_.empty()) return std::nullopt;
  const Fate fate = fates_.front();
  fates_.pop_front();
  return fate;
}

}  // namespace tuning
