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

// A rule's response to a report. Values are the rule's own, so smaller is better.
struct Judgement {
  TrialDecision answer = TrialDecision::kContinue;
  // True if the report changed the rule's state; otherwise it need not be stored.
  bool changed = false;
  double level = 0;       // Resource at which it was compared.
  std::size_t rank = 0;   // Rank of the value there, 1 for the best; 0: not ranked.
  std::size_t count = 0;  // Number of compared values, with its own if it was ranked.
  std::size_t keeps = 0;  // How many of them continue.
  double own = std::numeric_limits<double>::quiet_NaN();
  double limit = std::numeric_limits<double>::quiet_NaN();  // Worst value allowed for `own`.
};

// Decides which trials of a sweep continue. Trials are numbered from 0 in the order in which they
// start. Not thread-safe.
class StoppingRule {
 public:
  virtual ~StoppingRule() = default;
  virtual std::unique_ptr<StoppingRule> Clone() const = 0;

  // `decided` is the answer to this report before a restart; it overrides what the rule would
  // decide now.
  virtual Judgement Report(std::uint64_t trial, double resource, double value,
                           std::optional<TrialDecision> decided) = 0;
  // The trial has ended, other than by a pause of the rule.
  virtual void End(std::uint64_t /*trial*/) {}
  // `begun` trials have started, and more will if `more_come`. Returns the next fate of a paused
  // trial, if one is decided; each fate is returned once.
  struct Fate {
    std::uint64_t trial = 0;
    bool goes_on = true;  // Otherwise it never continues.
  };
  virtual std::optional<Fate> Next(std::uint64_t /*begun*/, bool /*more_come*/) { return {}; }
  // From now on pauses no trial: a trial that would be paused is judged by the same values and
  // stopped.
  virtual void StopInstead() {}

  struct Level {
    double resource = 0;
    std::size_t arrived = 0;
    std::size_t went_on = 0;
    double best = std::numeric_limits<double>::quiet_NaN();
    // Worst value with which the next trial there may continue; NaN: any value continues, or the
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
