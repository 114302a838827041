// Points are in the unit cube; the coordinate of a category is its index. A parameter that is whole
// or has steps is rounded to its nearest value before a point is evaluated, so that only points
// that can be tried are compared.

#include "tuning/sample/gp_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "eigen3/Eigen/Core"
#include "tuning/sample/gaussian_process.h"
#include "tuning/sample/latin_hypercube.h"
#include "tuning/sample/minimize.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/draws.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kExploresEach = 5;
constexpr double kShorter = 4;           // Divisor of the lengths in such a trial.
constexpr int kRounds = 3;               // Rounds of climbing, alternately in numbers and values.
constexpr std::size_t kMostValues = 32;  // Values of a parameter that are all tried.
constexpr double kNearest = 1e-3;        // Smallest reach of a candidate near the best.

struct Results {
  std::vector<const Point*> points;
  std::vector<double> values;      // Finite.
  std::vector<double> violations;  // Infinite: it is unknown whether constraints hold.
  std::vector<const Observation*> trials;

  // Results that meet the constraints rank first, then those that violate them least.
  bool IsBetter(std::size_t a, std::size_t b) const {
    return std::pair(violations[a], values[a]) < std::pair(violations[b], values[b]);
  }
};

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Returns the results in the history: a value for each trial that has ended.
Results ResultsOf(std::span<const Observation> history) {
  std::vector<double> finite;
  for (const Observation& trial : history) {
    if (trial.state == TrialState::kDone && std::isfinite(trial.value))
      finite.push_back(trial.value);
  }
  if (finite.empty()) return {};
  const auto [least, largest] = std::minmax_element(finite.begin(), finite.end());
  const double middle = Median(finite);
  const bool is_constrained = std::any_of(
      history.begin(), history.end(), [](const auto& trial) { return !trial.excesses.empty(); });
  Results results;
  for (const Observation& trial : history) {
    if (trial.state == TrialState::kRunning) continue;
    double value = trial.state == TrialState::kFailed || std::isnan(trial.value)
                       ? *largest
                       : std::clamp(trial.value, *least, *largest);
    if (trial.state == TrialState::kStoppedEarly) value = std::max(value, middle);
    results.points.push_back(&trial.point);
    results.values.push_back(value);
    const bool is_unknown = is_constrained && trial.excesses.empty();
    results.violations.push_back(!HasResult(trial) || is_unknown ? kInfinity : Violation(trial));
    results.trials.push_back(&trial);
  }
  return results;
}

// Returns the most important results if there are more than `limit`: half of them are the best, the
// others the newest.
Results Thinned(const Results& results, std::size_t limit) {
  if (results.values.size() <= limit) return results;
  std::vector<std::size_t> order(results.values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return results.IsBetter(a, b); });
  std::vector<bool> chosen(order.size(), false);
  for (std::size_t i = 0; i < limit / 2; ++i) chosen[order[i]] = true;
  std::size_t left = limit - limit / 2;
  for (std::size_t i = order.size(); i-- > 0 && left > 0;) {
    left -= chosen[i] ? 0 : 1;
    chosen[i] = true;
  }
  Results thinned;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (!chosen[i]) continue;
    thinned.points.push_back(results.points[i]);
    thinned.values.push_back(results.values[i]);
    thinned.violations.push_back(results.violations[i]);
    thinned.trials.push_back(results.trials[i]);
  }
  return thinned;
}

// Replaces values above the median by the quantile of a normal distribution for their rank, and
// then compresses all by a logarithm (as Vizier: Song et al. 2022), so that a few huge values do
// not hide the differences between good ones.
void DrawTogether(std::vector<double>& values) {
  const double middle = Median(values);
  double squares = 0, count = 0;
  for (const double value : values) {
    if (value > middle) continue;
    squares += (value - middle) * (value - middle);
    ++count;
  }
  const double deviation = std::sqrt(squares / std::max(1.0, count));
  if (!(deviation > 0)) return;
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  const std::vector<double> before = values;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    if (before[order[rank]] <= middle) continue;
    const double place = (static_cast<double>(rank) + 0.5) / static_cast<double>(order.size());
    values[order[rank]] = middle + deviation * NormalQuantile(place);
  }
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  const double low = *least, range = *largest - *least;
  for (double& value : values) {
    value = std::log1p((value - low) / range * 0.5) / std::log(1.5) - 0.5;
  }
}

VectorXd Standardised(const std::vector<double>& values) {
  VectorXd standard = Eigen::Map<const VectorXd>(values.data(), static_cast<Index>(values.size()));
  standard.array() -= standard.mean();
  const double deviation = std::sqrt(standard.squaredNorm() / static_cast<double>(standard.size()));
  return standard / std::max(deviation, 1e-12);
}

// The worth of a place: the logarithm of the expected improvement there, plus the log-probabilities
// that the constraints hold there.
class Gain {
 public:
  // `least` is the value to improve on. Infinite if no trial meets the constraints: then only
  // meeting them counts.
  Gain(GaussianProcess process, double least) : process_(std::move(process)), least_(least) {}
  // The constraint holds where the value of `process` is at most `limit`.
  void AddConstraint(GaussianProcess process, double limit) {
    constraints_.push_back({std::move(process), limit});
  }

  VectorXd At(const MatrixXd& places) const {
    VectorXd gains = std::isinf(least_) ? VectorXd::Zero(places.rows())
                                        : process_.LogExpectedImprovements(places, least_);
    for (const Limit& one : constraints_) {
      gains += one.process.LogProbabilitiesBelow(places, one.limit);
    }
    return gains;
  }
  // Sets `slope` unless null; it must have its size already.
  double At(const VectorXd& place, VectorXd* slope) const {
    double gain = 0;
    if (slope != nullptr) slope->setZero();
    if (!std::isinf(least_)) gain = process_.LogExpectedImprovement(place, least_, slope);
    VectorXd one_slope(place.size());
    for (const Limit& one : constraints_) {
      gain += one.process.LogProbabilityBelow(place, one.limit,
                                              slope == nullptr ? nullptr : &one_slope);
      if (slope != nullptr) *slope += one_slope;
    }
    return gain;
  }

 private:
  struct Limit {
    GaussianProcess process;
    double limit;
  };
  GaussianProcess process_;
  double least_;
  std::vector<Limit> constraints_;
};

class GpSampler : public Sampler {
 public:
  GpSampler(const Space* space, GpOptions options) : space_(space), options_(options) {
    for (std::size_t j = 0; j < space->size(); ++j) {
      categories_.push_back((*space)[j].kind == Kind::kCategory);
      if ((*space)[j].IsContinuous()) continuous_.push_back(static_cast<Index>(j));
    }
  }

  std::optional<Point> Suggest(std::span<const Observation> history,
                               std::uint64_t number) const override {
    const auto is_done = [](const Observation& trial) { return trial.state == TrialState::kDone; };
    Results results = ResultsOf(history);
    if (results.values.empty() ||
        std::count_if(history.begin(), history.end(), is_done) < options_.startup) {
      return LatinHypercubePoint(*space_, options_.seed, number,
                                 static_cast<std::uint64_t>(options_.startup));
    }
    results = Thinned(results, static_cast<std::size_t>(options_.max_results));
    if (number % 2 == 0) DrawTogether(results.values);
    const VectorXd values = Standardised(results.values);
    GaussianProcess process(Rows(results.points), values, categories_);
    process.Fit();
    // Now and then reduces the confidence far from all points, so that the search leaves a valley
    // that is not the deepest.
    if (number % kExploresEach == kExploresEach - 1) process.Shorten(kShorter);
    std::vector<const Point*> running;
    for (const Observation& trial : history) {
      if (trial.state == TrialState::kRunning) running.push_back(&trial.point);
    }
    // A suggestion must also improve on the expected values of running trials; otherwise all would
    // go to the same place.
    const double least = process.Believe(Rows(running));
    const std::size_t best = BestOf(results);
    const bool is_met = results.violations[best] == 0;
    const bool is_constrained = std::any_of(results.trials.begin(), results.trials.end(),
                                            [](const auto* one) { return !one->excesses.empty(); });
    Gain gain(std::move(process), !is_constrained ? least
                                  : is_met        ? values[static_cast<Index>(best)]
                                                  : kInfinity);
    AddConstraints(results, running, gain);
    const VectorXd found =
        Search(gain, Unit(*results.points[best]), Draws(options_.seed, "gp", number));
    Point point(space_->size());
    for (std::size_t j = 0; j < point.size(); ++j) point[j] = Value(j, found);
    return point;
  }

 private:
  struct Candidate {
    double gain = -kInfinity;
    VectorXd place;
  };

  // Returns the best result that violates no constraint, or violates them least.
  static std::size_t BestOf(const Results& results) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < results.trials.size(); ++i) {
      if (results.IsBetter(i, best)) best = i;
    }
    return best;
  }

  // Adds a process for each constraint, fitted to how far trials were from meeting it.
  void AddConstraints(const Results& results, const std::vector<const Point*>& running,
                      Gain& gain) const {
    for (std::size_t k = 0;; ++k) {
      std::vector<const Point*> points;
      std::vector<double> excesses;
      for (const Observation* const trial : results.trials) {
        if (k >= trial->excesses.size()) continue;
        points.push_back(&trial->point);
        excesses.push_back(trial->excesses[k]);
      }
      if (points.empty()) return;
      Bound(excesses);
      const double middle = std::accumulate(excesses.begin(), excesses.end(), 0.0) /
                            static_cast<double>(excesses.size());
      double squares = 0;
      for (const double one : excesses) squares += (one - middle) * (one - middle);
      const double deviation =
          std::max(std::sqrt(squares / static_cast<double>(excesses.size())), 1e-12);
      GaussianProcess process(Rows(points), Standardised(excesses), categories_);
      process.Fit();
      process.Believe(Rows(running));
      gain.AddConstraint(std::move(process), -middle / deviation);
    }
  }
  // Replaces infinite values by the largest finite one.
  static void Bound(std::vector<double>& excesses) {
    double least = 0, largest = 1e-9;
    for (const double one : excesses) {
      if (std::isinf(one)) continue;
      least = std::min(least, one);
      largest = std::max(largest, one);
    }
    for (double& one : excesses) one = std::clamp(one, least, largest);
  }

  VectorXd Unit(const Point& point) const {
    VectorXd unit(static_cast<Index>(point.size()));
    for (std::size_t j = 0; j < point.size(); ++j) {
      unit[static_cast<Index>(j)] = (*space_)[j].ToUnit(point[j]);
    }
    return unit;
  }
  MatrixXd Rows(const std::vector<const Point*>& points) const {
    MatrixXd rows(static_cast<Index>(points.size()), static_cast<Index>(space_->size()));
    for (std::size_t i = 0; i < points.size(); ++i) {
      rows.row(static_cast<Index>(i)) = Unit(*points[i]).transpose();
    }
    return rows;
  }
  double Value(std::size_t j, const VectorXd& place) const {
    const double coordinate = place[static_cast<Index>(j)];
    return categories_[j] ? coordinate : (*space_)[j].FromUnit(coordinate);
  }
  // Rounds to existing values.
  void Snap(VectorXd& place) const {
    for (std::size_t j = 0; j < space_->size(); ++j) {
      const Parameter& parameter = (*space_)[j];
      if (categories_[j] || parameter.IsContinuous()) continue;
      place[static_cast<Index>(j)] = parameter.ToUnit(Value(j, place));
    }
  }

  VectorXd Anywhere(Draws& draws) const {
    VectorXd place(static_cast<Index>(space_->size()));
    for (std::size_t j = 0; j < space_->size(); ++j) {
      const double unit = draws.Uniform();
      place[static_cast<Index>(j)] = categories_[j] ? (*space_)[j].FromUnit(unit) : unit;
    }
    return place;
  }
  // Moves some coordinates by up to a reach between kNearest and 1.
  VectorXd Near(const VectorXd& best, Draws& draws) const {
    VectorXd place = best;
    const double reach = std::pow(kNearest, draws.Uniform());
    const double share = std::max(0.5, 2.0 / static_cast<double>(space_->size()));
    for (std::size_t j = 0; j < space_->size(); ++j) {
      const Index index = static_cast<Index>(j);
      const double chance = draws.Uniform(), move = draws.Uniform();
      if (categories_[j]) {
        if (chance < 0.2) place[index] = (*space_)[j].FromUnit(move);
      } else if (chance < share) {
        place[index] = std::clamp(place[index] + reach * (2 * move - 1), 0.0, 1.0);
      }
    }
    return place;
  }

  VectorXd Search(const Gain& gain, const VectorXd& best, Draws draws) const {
    MatrixXd places(options_.candidates, static_cast<Index>(space_->size()));
    for (Index i = 0; i < places.rows(); ++i) {
      VectorXd place = i % 4 == 3 ? Near(best, draws) : Anywhere(draws);
      Snap(place);
      places.row(i) = place.transpose();
    }
    const VectorXd gains = gain.At(places);
    std::vector<Candidate> candidates;
    for (Index i = 0; i < places.rows(); ++i) {
      candidates.push_back({gains[i], places.row(i).transpose()});
    }
    const auto climbs = std::min(static_cast<std::ptrdiff_t>(options_.climbs),
                                 static_cast<std::ptrdiff_t>(candidates.size()));
    std::partial_sort(candidates.begin(), candidates.begin() + climbs, candidates.end(),
                      [](const Candidate& a, const Candidate& b) { return a.gain > b.gain; });
    Candidate top = candidates.front();
    for (auto start = candidates.begin(); start != candidates.begin() + climbs; ++start) {
      Candidate climbed = Climb(gain, *start, draws);
      if (climbed.gain > top.gain) top = std::move(climbed);
    }
    return top.place;
  }

  Candidate Climb(const Gain& gain, Candidate candidate, Draws& draws) const {
    for (int round = 0; round < kRounds; ++round) {
      const double before = candidate.gain;
      ClimbNumbers(gain, candidate);
      const bool has_values = ClimbValues(gain, candidate, draws);
      if (!has_values || candidate.gain <= before + 1e-9) break;
    }
    return candidate;
  }

  void ClimbNumbers(const Gain& gain, Candidate& candidate) const {
    if (continuous_.empty()) return;
    const auto count = static_cast<Index>(continuous_.size());
    VectorXd whole = candidate.place, whole_slope(whole.size());
    VectorXd start(count);
    for (Index i = 0; i < count; ++i) start[i] = whole[continuous_[static_cast<std::size_t>(i)]];
    const auto lost = [&](const VectorXd& place, VectorXd& slope) {
      for (Index i = 0; i < count; ++i) whole[continuous_[static_cast<std::size_t>(i)]] = place[i];
      const double here = gain.At(whole, &whole_slope);
      for (Index i = 0; i < count; ++i) {
        slope[i] = -whole_slope[continuous_[static_cast<std::size_t>(i)]];
      }
      return -here;
    };
    const VectorXd found = Minimize(lost, start,
                                    {.iterations = 30,
                                     .slope = 1e-3,
                                     .low = VectorXd::Zero(count),
                                     .high = VectorXd::Ones(count)});
    for (Index i = 0; i < count; ++i) whole[continuous_[static_cast<std::size_t>(i)]] = found[i];
    const double there = gain.At(whole, nullptr);
    if (there > candidate.gain) candidate = {there, whole};
  }

  // For each parameter that is not continuous in turn: tries all of its values, or some.
  bool ClimbValues(const Gain& gain, Candidate& candidate, Draws& draws) const {
    bool has_values = false;
    for (std::size_t j = 0; j < space_->size(); ++j) {
      const Parameter& parameter = (*space_)[j];
      if (parameter.IsContinuous()) continue;
      has_values = true;
      const std::size_t count = parameter.Count().value_or(kMostValues + 1);
      for (std::size_t k = 0; k < std::min(count, kMostValues); ++k) {
        VectorXd place = candidate.place;
        const double unit = count <= kMostValues
                                ? (static_cast<double>(k) + 0.5) / static_cast<double>(count)
                                : draws.Uniform();
        double& coordinate = place[static_cast<Index>(j)];
        if (categories_[j]) {
          coordinate = count <= kMostValues ? static_cast<double>(k) : parameter.FromUnit(unit);
        } else {
          const double step = parameter.step > 0 ? parameter.step : 1;
          coordinate = count <= kMostValues
                           ? parameter.ToUnit(parameter.low + static_cast<double>(k) * step)
                           : parameter.ToUnit(parameter.FromUnit(unit));
        }
        const double there = gain.At(place, nullptr);
        if (there > candidate.gain) candidate = {there, std::move(place)};
      }
    }
    return has_values;
  }

  const Space* const space_;
  const GpOptions options_;
  std::vector<bool> categories_;
  std::vector<Index> continuous_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Sampler>> MakeGpSampler(const Space* space, GpOptions options) {
  for (std::size_t j = 0; j < space->size(); ++j) {
    if (!(*space)[j].when) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "parameter ", (*space)[j].name, " has a condition, which a Gaussian process cannot have"));
  }
  return std::make_unique<GpSampler>(space, options);
}

}  // namespace tuning
