#ifndef TUNING_STOP_STOPPING_RULE_H_
#define TUNING_STOP_STOPPING_RULE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "tuning/stop/asha.h"
#include "tuning/stop/asha_promotion.h"
#include "tuning/stop/bands.h"
#include "tuning/stop/hyperband.h"
#include "tuning/stop/median_rule.h"

namespace tuning {

enum class TrialDecision { kContinue, kStop, kPause };

// A judgement is what a rule says to a report. Numbers are those of the rule, so smaller is better.
struct Judgement {
  TrialDecision answer = TrialDecision::kContinue;
  // Whether the rule knows something that it did not know before: what is not so need not be
  // stored.
  bool changed = false;
  double level = 0;       // The resource at which it was compared.
  std::size_t rank = 0;   // The value's rank there, 1 being the best; 0: it was not ranked.
  std::size_t count = 0;  // How many it was compared with: with itself if it was ranked.
  std::size_t keeps = 0;  // So many of them go on.
  double own = std::numeric_limits<double>::quiet_NaN();
  double limit = std::numeric_limits<double>::quiet_NaN();  // The worst that `own` may be.
};

// Decides which trials of a sweep go on. Trials count from 0 in the order in which they begin. One
// thread at a time.
class StoppingRule {
 public:
  virtual ~StoppingRule() = default;
  virtual std::unique_ptr<StoppingRule> Clone() const = 0;

  // `decided`: what was said to this report before a restart; it counts, whatever would be said
  // now.
  virtual Judgement Report(std::uint64_t trial, double resource, double value,
                           std::optional<TrialDecision> decided) = 0;
  // The trial has ended, and was not paused by the rule.
  virtual void End(std::uint64_t /*trial*/) {}
  // `begun` trials have begun, and more will if `more_come`. The fate of a paused one now, if
  // any; it has been told then, and is not told again.
  struct Fate {
    std::uint64_t trial = 0;
    bool goes_on = true;  // Or is not gone on with any more.
  };
  virtual std::optional<Fate> Next(std::uint64_t /*begun*/, bool /*more_come*/) { return {}; }
  // Nothing is paused any more: what was meant to is judged by the same values and stopped.
  virtual void StopInstead() {}

  struct Level {
    double resource = 0;
    std::size_t arrived = 0;
    std::size_t went_on = 0;
    double best = std::numeric_limits<double>::quiet_NaN();
    // The worst value that the next trial to come there may have to go on; NaN: any goes on, or the
    // rule has no such limit.
    double cutoff = std::numeric_limits<double>::quiet_NaN();
  };
  virtual std::vector<Level> Levels() const { return {}; }
};

std::unique_ptr<StoppingRule> MakeRule(Asha rule);
std::unique_ptr<StoppingRule> MakeRule(AshaPromotion rule);
std::unique_ptr<StoppingRule> MakeRule(MedianRule rule);
std::unique_ptr<StoppingRule> MakeRule(Bands rule);
std::unique_ptr<StoppingRule> MakeRule(Hyperband rule);

}  // namespace tuning

#endif  // TUNING_STOP_STOPPING_RULE_H_
