#include "tuning/stop/asha_promotion.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/status/statusor.h"
#include "tuning/stop/asha.h"

namespace tuning {
namespace {

// Returns how many places of the level precede `place`.
std::size_t Better(const AshaPromotion::Level& level, const AshaPromotion::Place& place) {
  return static_cast<std::size_t>(
      std::lower_bound(level.places.begin(), level.places.end(), place) - level.places.begin());
}

}  // namespace

absl::StatusOr<AshaPromotion> AshaPromotion::Create(Asha::Options options) {
  const auto asha = Asha::Create(options);
  if (!asha.ok()) return asha.status();
  return AshaPromotion(options, *asha);
}

AshaPromotion::AshaPromotion(Asha::Options options, const Asha& asha) : options_(options) {
  for (const Asha::Level& level : asha.levels()) levels_.push_back({.resource = level.resource});
}

std::size_t AshaPromotion::Keeps(const Level& level) const {
  return static_cast<std::size_t>(
      std::floor(static_cast<double>(level.arrived) / options_.eta * (1 + 1e-12)));
}

double AshaPromotion::Cutoff(const Level& level) const {
  const std::size_t keeps = std::min(Keeps(level), level.places.size());
  return keeps == 0 ? std::numeric_limits<double>::quiet_NaN() : level.places[keeps - 1].first;
}

std::optional<AshaPromotion::Candidate> AshaPromotion::Best() {
  for (std::size_t i = levels_.size(); i-- > 0;) {
    Level& level = levels_[i];
    while (!level.candidates.empty() && ended_.contains(level.candidates.begin()->second)) {
      level.candidates.erase(level.candidates.begin());
    }
    if (level.candidates.empty()) continue;
    const Place best = *level.candidates.begin();
    if (Better(level, best) < Keeps(level)) return Candidate{best, i};
  }
  return std::nullopt;
}

std::optional<std::uint64_t> AshaPromotion::Next() {
  if (stops_) return std::nullopt;
  const auto best = Best();
  if (!best) return std::nullopt;
  levels_[best->level].candidates.erase(best->place);
  ++levels_[best->level].went_on;
  return best->place.second;
}

std::optional<AshaPromotion::Arrival> AshaPromotion::Report(std::uint64_t trial, double resource,
                                                            double value,
                                                            std::optional<Verdict> decided) {
  const auto above =
      std::upper_bound(levels_.begin(), levels_.end(), resource,
                       [](double reached, const Level& level) { return reached < level.resource; });
  const auto reached = static_cast<std::size_t>(above - levels_.begin());
  std::size_t& passed = passed_[trial];
  if (reached <= passed) return std::nullopt;
  passed = reached;
  Level& level = levels_[reached - 1];
  ++level.arrived;
  const Place place = {value, trial};
  Arrival arrival = {.level = level.resource,
                     .rank = level.places.size() + 1,
                     .count = level.arrived,
                     .keeps = stops_ ? std::max<std::size_t>(1, Keeps(level)) : Keeps(level)};
  if (!std::isnan(value)) {
    arrival.rank = Better(level, {value, 0}) + 1;
    level.places.insert(std::lower_bound(level.places.begin(), level.places.end(), place), place);
    level.candidates.insert(place);
  }
  if (decided) {
    arrival.verdict = *decided;
  } else if (std::isnan(value)) {
    arrival.verdict = Verdict::kStops;
  } else if (stops_) {
    arrival.verdict = arrival.rank <= arrival.keeps ? Verdict::kGoesOn : Verdict::kStops;
  } else {
    const auto best = Best();
    const bool is_next = best && best->place == place && best->level == reached - 1;
    arrival.verdict = is_next ? Verdict::kGoesOn : Verdict::kPauses;
  }
  if (arrival.verdict == Verdict::kGoesOn) {
    level.candidates.erase(place);
    ++level.went_on;
  }
  return arrival;
}

}  // namespace tuning
