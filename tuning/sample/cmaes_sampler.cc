// Each suggestion rebuilds the state from the history: the state is small, and nothing stores it.

#include "tuning/sample/cmaes_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "eigen3/Eigen/Core"
#include "eigen3/Eigen/Eigenvalues"
#include "tuning/sample/sampler.h"
#include "tuning/space/draws.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kFirstSigma = 1.0 / 6;
constexpr double kLeastWidth = 1e-8;    // Less in all directions counts as a point.
constexpr double kCategoryRate = 0.25;  // Adaptation rate of the shares of categories.
constexpr double kLeastEigenvalue = 1e-20;

// Constants that depend only on the number of dimensions.
struct Constants {
  std::size_t population = 4;
  std::size_t parents = 2;
  VectorXd weights;  // One for each trial of a generation, best first.
  double mu_eff = 1, c1 = 0, c_mu = 0, c_sigma = 0, d_sigma = 1, c_c = 0, chi = 1;
};

Constants ConstantsFor(double d) {
  Constants k;
  k.population = 4 + static_cast<std::size_t>(3 * std::log(std::max(d, 1.0)));
  k.parents = k.population / 2;
  const auto count = static_cast<Index>(k.population), best = static_cast<Index>(k.parents);
  k.weights.resize(count);
  for (Index i = 0; i < count; ++i) {
    k.weights[i] =
        std::log((static_cast<double>(count) + 1) / 2) - std::log(static_cast<double>(i) + 1);
  }
  const auto effective = [](const auto& weights) {
    return weights.sum() * weights.sum() / weights.squaredNorm();
  };
  k.mu_eff = effective(k.weights.head(best));
  const double mu_eff_minus = effective(k.weights.tail(count - best));
  k.c1 = 2 / ((d + 1.3) * (d + 1.3) + k.mu_eff);
  k.c_mu =
      std::min(1 - k.c1 - 1e-8, 2 * (k.mu_eff - 2 + 1 / k.mu_eff) / ((d + 2) * (d + 2) + k.mu_eff));
  const double least_alpha = std::min({1 + k.c1 / k.c_mu, 1 + 2 * mu_eff_minus / (k.mu_eff + 2),
                                       (1 - k.c1 - k.c_mu) / (d * k.c_mu)});
  double above = 0, below = 0;
  for (const double weight : k.weights) (weight > 0 ? above : below) += std::abs(weight);
  for (double& weight : k.weights) weight *= weight > 0 ? 1 / above : least_alpha / below;
  k.c_sigma = (k.mu_eff + 2) / (d + k.mu_eff + 5);
  k.d_sigma = 1 + 2 * std::max(0.0, std::sqrt((k.mu_eff - 1) / (d + 1)) - 1) + k.c_sigma;
  k.c_c = (4 + k.mu_eff / d) / (d + 4 + 2 * k.mu_eff / d);
  k.chi = std::sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d));
  return k;
}

// The distribution of the numbers.
class Normal {
 public:
  Normal(const Constants* constants, Index dimensions)
      : k_(constants), middle_(VectorXd::Constant(dimensions, 0.5)) {
    Begin();
  }

  // `generation`: places, best first.
  void Update(const std::vector<VectorXd>& generation, Draws& elsewhere) {
    const Index d = middle_.size();
    std::vector<VectorXd> steps;
    for (const VectorXd& place : generation) steps.push_back(Bounded((place - middle_) / sigma_));
    VectorXd mean = VectorXd::Zero(d);
    for (std::size_t i = 0; i < k_->parents; ++i) {
      mean += k_->weights[static_cast<Index>(i)] * steps[i];
    }
    middle_ += sigma_ * mean;
    path_sigma_ = (1 - k_->c_sigma) * path_sigma_ +
                  std::sqrt(k_->c_sigma * (2 - k_->c_sigma) * k_->mu_eff) * Whitened(mean);
    const double length = path_sigma_.norm();
    ++generations_;
    const double expected =
        std::sqrt(1 - std::pow(1 - k_->c_sigma, 2 * static_cast<double>(generations_)));
    const double h = length / expected < (1.4 + 2 / (static_cast<double>(d) + 1)) * k_->chi ? 1 : 0;
    path_ = (1 - k_->c_c) * path_ + h * std::sqrt(k_->c_c * (2 - k_->c_c) * k_->mu_eff) * mean;
    MatrixXd of_steps = MatrixXd::Zero(d, d);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      double weight = k_->weights[static_cast<Index>(i)];
      if (weight < 0) {
        weight *= static_cast<double>(d) / (Whitened(steps[i]).squaredNorm() + 1e-8);
      }
      of_steps += weight * steps[i] * steps[i].transpose();
    }
    const double kept =
        1 + k_->c1 * (1 - h) * k_->c_c * (2 - k_->c_c) - k_->c1 - k_->c_mu * k_->weights.sum();
    covariance_ = kept * covariance_ + k_->c1 * path_ * path_.transpose() + k_->c_mu * of_steps;
    sigma_ *= std::exp(std::min(1.0, k_->c_sigma / k_->d_sigma * (length / k_->chi - 1)));
    Decompose();
    if (sigma_ * roots_.maxCoeff() >= kLeastWidth) return;
    for (double& coordinate : middle_) coordinate = elsewhere.Uniform();
    Begin();
  }

  VectorXd Draw(Draws& draws) const {
    VectorXd place;
    for (int i = 0; i < 10 * middle_.size(); ++i) {
      VectorXd normal(middle_.size());
      for (double& one : normal) one = NormalQuantile(std::max(draws.Uniform(), 0x1p-54));
      place = middle_ + sigma_ * (vectors_ * roots_.cwiseProduct(normal));
      if (place.minCoeff() >= 0 && place.maxCoeff() <= 1) return place;
    }
    return place.cwiseMax(0.0).cwiseMin(1.0);
  }
  // Returns the standard deviation of a coordinate.
  double Deviation(Index i) const { return sigma_ * std::sqrt(covariance_(i, i)); }

 private:
  void Begin() {
    const Index d = middle_.size();
    sigma_ = kFirstSigma;
    covariance_ = MatrixXd::Identity(d, d);
    path_ = path_sigma_ = VectorXd::Zero(d);
    generations_ = 0;
    Decompose();
  }
  void Decompose() {
    if (middle_.size() == 0) return;
    covariance_ = ((covariance_ + covariance_.transpose()) / 2).eval();
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(covariance_);
    vectors_ = solver.eigenvectors();
    roots_ = solver.eigenvalues().cwiseMax(kLeastEigenvalue).cwiseSqrt();
  }
  VectorXd Whitened(const VectorXd& step) const {
    return vectors_ * (vectors_.transpose() * step).cwiseQuotient(roots_);
  }
  // Limits a step from elsewhere (an earlier generation, another sweep) to the length of a step
  // that could have been drawn (Hansen 2011).
  VectorXd Bounded(const VectorXd& step) const {
    const double d = static_cast<double>(step.size());
    const double most = std::sqrt(d) + 2 * d / (d + 2), length = Whitened(step).norm();
    return length > most ? VectorXd(step * (most / length)) : step;
  }

  const Constants* k_;
  VectorXd middle_, path_, path_sigma_, roots_;
  MatrixXd covariance_, vectors_;
  double sigma_ = kFirstSigma;
  std::uint64_t generations_ = 0;
};

class CmaesSampler : public Sampler {
 public:
  CmaesSampler(const Space* space, std::uint64_t seed) : space_(space), seed_(seed) {
    for (std::size_t j = 0; j < space->size(); ++j) {
      ((*space)[j].kind == Kind::kCategory ? categories_ : numbers_).push_back(j);
    }
    constants_ = ConstantsFor(std::max(1.0, static_cast<double>(numbers_.size())));
  }

  std::optional<Point> Suggest(std::span<const Observation> history,
                               std::uint64_t number) const override {
    Normal normal(&constants_, static_cast<Index>(numbers_.size()));
    std::vector<VectorXd> shares = FirstShares();
    Draws elsewhere(seed_, "cmaes elsewhere", 0);
    std::vector<const Observation*> generation;
    for (const Observation& trial : history) {
      if (trial.state == TrialState::kRunning) continue;
      generation.push_back(&trial);
      if (generation.size() < constants_.population) continue;
      Learn(std::exchange(generation, {}), normal, shares, elsewhere);
    }
    return Drawn(normal, shares, number);
  }

 private:
  static bool Precedes(const Observation* a, const Observation* b) {
    if (HasResult(*a) != HasResult(*b)) return HasResult(*a);
    return HasResult(*a) && IsBetter(*a, *b);
  }

  void Learn(std::vector<const Observation*> generation, Normal& normal,
             std::vector<VectorXd>& shares, Draws& elsewhere) const {
    std::stable_sort(generation.begin(), generation.end(), Precedes);
    for (std::size_t c = 0; c < categories_.size(); ++c) {
      shares[c] *= 1 - kCategoryRate;
      for (std::size_t i = 0; i < constants_.parents; ++i) {
        const auto value = static_cast<Index>(generation[i]->point[categories_[c]]);
        shares[c][value] += kCategoryRate * constants_.weights[static_cast<Index>(i)];
      }
    }
    if (numbers_.empty()) return;
    std::vector<VectorXd> places;
    for (const Observation* const trial : generation) {
      VectorXd place(static_cast<Index>(numbers_.size()));
      for (std::size_t i = 0; i < numbers_.size(); ++i) {
        place[static_cast<Index>(i)] = (*space_)[numbers_[i]].ToUnit(trial->point[numbers_[i]]);
      }
      places.push_back(std::move(place));
    }
    normal.Update(places, elsewhere);
  }

  std::vector<VectorXd> FirstShares() const {
    std::vector<VectorXd> shares;
    for (const std::size_t j : categories_) {
      const Parameter& parameter = (*space_)[j];
      const auto count = static_cast<Index>(parameter.values.size());
      VectorXd share = VectorXd::Constant(count, 1 / static_cast<double>(count));
      for (std::size_t i = 0; i < parameter.probabilities.size(); ++i) {
        share[static_cast<Index>(i)] = parameter.probabilities[i];
      }
      shares.push_back(share / share.sum());
    }
    return shares;
  }

  Point Drawn(const Normal& normal, const std::vector<VectorXd>& shares,
              std::uint64_t number) const {
    Draws draws(seed_, "cmaes", number);
    Point point(space_->size());
    for (std::size_t c = 0; c < categories_.size(); ++c) {
      // Keeps a chance that each value appears in every other generation.
      const double least = 0.5 / static_cast<double>(constants_.population * shares[c].size());
      const VectorXd chances = shares[c].cwiseMax(least) / shares[c].cwiseMax(least).sum();
      double left = draws.Uniform();
      Index value = 0;
      while (value + 1 < chances.size() && left >= chances[value]) left -= chances[value++];
      point[categories_[c]] = static_cast<double>(value);
    }
    if (numbers_.empty()) return point;
    const VectorXd place = normal.Draw(draws);
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      point[numbers_[i]] = ValueAt(numbers_[i], place[static_cast<Index>(i)],
                                   normal.Deviation(static_cast<Index>(i)), draws);
    }
    return point;
  }

  // Returns the value of a number at `unit`. A number with steps sometimes leaves its step even
  // where the distribution has become narrower than a step (as in CMA-ES with margin: Hamano et al.
  // 2022).
  double ValueAt(std::size_t j, double unit, double deviation, Draws& draws) const {
    const Parameter& parameter = (*space_)[j];
    const double value = parameter.FromUnit(unit);
    if (parameter.IsContinuous()) return value;
    const auto [low, high] = parameter.UnitCell(value);
    const double chance = draws.Uniform();
    const double margin = 1 / static_cast<double>(constants_.population);
    if (deviation > (high - low) / 2 || chance >= margin) return value;
    const double beyond = (high - low) / 2;
    const bool goes_up = (chance < margin / 2 || low <= 0) && high < 1;
    return parameter.FromUnit(std::clamp(goes_up ? high + beyond : low - beyond, 0.0, 1.0));
  }

  const Space* const space_;
  const std::uint64_t seed_;
  std::vector<std::size_t> numbers_, categories_;
  Constants constants_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Sampler>> MakeCmaesSampler(const Space* space, std::uint64_t seed) {
  for (std::size_t j = 0; j < space->size(); ++j) {
    if (!(*space)[j].when) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "parameter ", (*space)[j].name, " has a condition, which CMA-ES cannot have: take tpe"));
  }
  return std::make_unique<CmaesSampler>(space, seed);
}

}  // namespace tuning
