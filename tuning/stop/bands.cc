#include "tuning/stop/bands.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace tuning {
namespace {

constexpr int kMostBands = 100;
constexpr double kFarthest = 1e15;  // No trial has this many values.

std::vector<std::size_t> Places(const Bands::Options& options) {
  std::vector<std::size_t> places;
  if (options.max_iter > 0) {
    double band = static_cast<double>(options.max_iter);
    for (std::size_t i = 0; i < options.s; ++i) {
      band /= options.eta;
      if (band < 1) break;
      places.push_back(static_cast<std::size_t>(band));
    }
    std::reverse(places.begin(), places.end());
    return places;
  }
  double band = static_cast<double>(options.min_iter);
  for (int i = 0; i < kMostBands && band < kFarthest; ++i, band *= options.eta) {
    places.push_back(static_cast<std::size_t>(band));
  }
  return places;
}

}  // namespace

absl::StatusOr<Bands> Bands::Create(Options options) {
  if (!(options.eta > 1) || !std::isfinite(options.eta)) {
    return absl::InvalidArgumentError(absl::StrCat("eta is ", options.eta, "; it is above 1"));
  }
  if ((options.min_iter > 0) == (options.max_iter > 0)) {
    return absl::InvalidArgumentError("it takes either min_iter, or max_iter and s");
  }
  if (options.max_iter > 0 && options.s == 0) {
    return absl::InvalidArgumentError("max_iter needs s, the number of bands");
  }
  Bands bands(options);
  for (const std::size_t at : Places(options)) bands.bands_.push_back({.at = at});
  if (bands.bands_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a max_iter of ", options.max_iter, " with an eta of ", options.eta, " has no band"));
  }
  return bands;
}

double Bands::LimitOf(const Band& band) const {
  return band.values[static_cast<std::size_t>(1.0 / options_.eta *
                                              static_cast<double>(band.values.size()))];
}

Bands::Verdict Bands::Report(std::uint64_t number, double value) {
  Trial& trial = trials_[number];
  const bool counts = std::isfinite(value);
  if (counts) Count(trial, value);
  if (trial.at_bands.empty()) return {.counts = counts};
  const Band& band = bands_[trial.at_bands.size() - 1];
  Verdict verdict = {.counts = counts,
                     .band = band.at,
                     .count = band.values.size(),
                     .own = options_.strict ? trial.at_bands.back() : trial.best,
                     .limit = LimitOf(band)};
  verdict.goes_on = verdict.own <= verdict.limit;
  return verdict;
}

void Bands::Count(Trial& trial, double value) {
  trial.best = trial.count == 0 ? value : std::min(trial.best, value);
  ++trial.count;
  // (With an eta near 1, two bands may be at the same place.)
  while (trial.at_bands.size() < bands_.size() && bands_[trial.at_bands.size()].at == trial.count) {
    std::vector<double>& values = bands_[trial.at_bands.size()].values;
    values.insert(std::upper_bound(values.begin(), values.end(), value), value);
    trial.at_bands.push_back(value);
  }
}

}  // namespace tuning
