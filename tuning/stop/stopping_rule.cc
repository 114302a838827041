#include "tuning/stop/stopping_rule.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tuning/stop/asha.h"
#include "tuning/stop/asha_promotion.h"
#include "tuning/stop/bands.h"
#include "tuning/stop/hyperband.h"
#include "tuning/stop/median_rule.h"

namespace tuning {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TrialDecision StopsOrNot(bool goes_on) {
  return goes_on ? TrialDecision::kContinue : TrialDecision::kStop;
}

class AshaRule : public StoppingRule {
 public:
  explicit AshaRule(Asha rule) : rule_(std::move(rule)) {}
  std::unique_ptr<StoppingRule> Clone() const override { return std::make_unique<AshaRule>(*this); }
  Judgement Report(std::uint64_t trial, double resource, double value,
                   std::optional<TrialDecision> decided) override {
    const auto verdict = rule_.Report(trial, resource, value);
    if (!verdict) return {};
    return {.answer = decided.value_or(StopsOrNot(verdict->goes_on)),
            .changed = true,
            .level = verdict->level,
            .rank = verdict->rank,
            .count = verdict->count,
            .keeps = verdict->keeps,
            .own = value};
  }
  std::vector<Level> Levels() const override {
    std::vector<Level> levels;
    for (const Asha::Level& level : rule_.levels()) {
      levels.push_back({level.resource, level.arrived, level.went_on,
                        level.values.empty() ? kNone : level.values.front(), rule_.Cutoff(level)});
    }
    return levels;
  }

 private:
  Asha rule_;
};

// Returns the judgement of a rule that pauses: AshaPromotion or Hyperband.
template <typename Rule>
Judgement JudgementOf(Rule& rule, std::uint64_t trial, double resource, double value,
                      std::optional<TrialDecision> decided) {
  using Verdict = typename Rule::Verdict;
  std::optional<Verdict> verdict;
  if (decided) {
    verdict = *decided == TrialDecision::kContinue ? Verdict::kGoesOn
              : *decided == TrialDecision::kPause  ? Verdict::kPauses
                                                   : Verdict::kStops;
  }
  const auto arrival = rule.Report(trial, resource, value, verdict);
  if (!arrival) return {};
  return {.answer = arrival->verdict == Verdict::kGoesOn   ? TrialDecision::kContinue
                    : arrival->verdict == Verdict::kPauses ? TrialDecision::kPause
                                                           : TrialDecision::kStop,
          .changed = true,
          .level = arrival->level,
          .rank = arrival->rank,
          .count = arrival->count,
          .keeps = arrival->keeps,
          .own = value};
}

class AshaPromotionRule : public StoppingRule {
 public:
  explicit AshaPromotionRule(AshaPromotion rule) : rule_(std::move(rule)) {}
  std::unique_ptr<StoppingRule> Clone() const override {
    return std::make_unique<AshaPromotionRule>(*this);
  }
  Judgement Report(std::uint64_t trial, double resource, double value,
                   std::optional<TrialDecision> decided) override {
    return JudgementOf(rule_, trial, resource, value, decided);
  }
  void End(std::uint64_t trial) override { rule_.End(trial); }
  std::optional<Fate> Next(std::uint64_t /*begun*/, bool /*more_come*/) override {
    const auto trial = rule_.Next();
    return trial ? std::optional(Fate{*trial, true}) : std::nullopt;
  }
  void StopInstead() override { rule_.StopInstead(); }
  std::vector<Level> Levels() const override {
    std::vector<Level> levels;
    for (const AshaPromotion::Level& level : rule_.levels()) {
      levels.push_back({level.resource, level.arrived, level.went_on,
                        level.places.empty() ? kNone : level.places.front().first,
                        rule_.Cutoff(level)});
    }
    return levels;
  }

 private:
  AshaPromotion rule_;
};

class HyperbandRule : public StoppingRule {
 public:
  explicit HyperbandRule(Hyperband rule) : rule_(std::move(rule)) {}
  std::unique_ptr<StoppingRule> Clone() const override {
    return std::make_unique<HyperbandRule>(*this);
  }
  Judgement Report(std::uint64_t trial, double resource, double value,
                   std::optional<TrialDecision> decided) override {
    return JudgementOf(rule_, trial, resource, value, decided);
  }
  void End(std::uint64_t trial) override { rule_.End(trial); }
  std::optional<Fate> Next(std::uint64_t begun, bool more_come) override {
    const auto fate = rule_.Next(begun, more_come);
    return fate ? std::optional(Fate{fate->trial, fate->goes_on}) : std::nullopt;
  }
  void StopInstead() override { rule_.StopInstead(); }

 private:
  Hyperband rule_;
};

class MedianStoppingRule : public StoppingRule {
 public:
  explicit MedianStoppingRule(MedianRule rule) : rule_(std::move(rule)) {}
  std::unique_ptr<StoppingRule> Clone() const override {
    return std::make_unique<MedianStoppingRule>(*this);
  }
  Judgement Report(std::uint64_t trial, double resource, double value,
                   std::optional<TrialDecision> decided) override {
    const auto verdict = rule_.Report(trial, resource, value);
    Judgement judgement = {.changed = true, .level = resource};
    if (!verdict) return judgement;  // (The value still counts for its mean.)
    judgement.answer = decided.value_or(StopsOrNot(verdict->goes_on));
    judgement.count = verdict->count;
    judgement.own = verdict->best;
    judgement.limit = verdict->median;
    return judgement;
  }

 private:
  MedianRule rule_;
};

class BandsRule : public StoppingRule {
 public:
  explicit BandsRule(Bands rule) : rule_(std::move(rule)) {}
  std::unique_ptr<StoppingRule> Clone() const override {
    return std::make_unique<BandsRule>(*this);
  }
  Judgement Report(std::uint64_t trial, double /*resource*/, double value,
                   std::optional<TrialDecision> decided) override {
    const Bands::Verdict verdict = rule_.Report(trial, value);
    Judgement judgement = {.answer = decided.value_or(StopsOrNot(verdict.goes_on)),
                           .changed = verdict.counts || !verdict.goes_on,
                           .level = static_cast<double>(verdict.band),
                           .count = verdict.count};
    if (verdict.band > 0) {
      judgement.own = verdict.own;
      judgement.limit = verdict.limit;
    }
    return judgement;
  }
  std::vector<Level> Levels() const override {
    std::vector<Level> levels;
    for (const Bands::Band& band : rule_.bands()) {
      if (band.values.empty()) break;
      levels.push_back({static_cast<double>(band.at), band.values.size(), 0, band.values.front(),
                        rule_.LimitOf(band)});
    }
    return levels;
  }

 private:
  Bands rule_;
};

}  // namespace

std::unique_ptr<StoppingRule> MakeRule(Asha rule) {
  return std::make_unique<AshaRule>(std::move(rule));
}
std::unique_ptr<StoppingRule> MakeRule(AshaPromotion rule) {
  return std::make_unique<AshaPromotionRule>(std::move(rule));
}
std::unique_ptr<StoppingRule> MakeRule(MedianRule rule) {
  return std::make_unique<MedianStoppingRule>(std::move(rule));
}
std::unique_ptr<StoppingRule> MakeRule(Bands rule) {
  return std::make_unique<BandsRule>(std::move(rule));
}
std::unique_ptr<StoppingRule> MakeRule(Hyperband rule) {
  return std::make_unique<HyperbandRule>(std::move(rule));
}

}  // namespace tuning
