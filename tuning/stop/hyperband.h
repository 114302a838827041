#ifndef TUNING_STOP_HYPERBAND_H_
#define TUNING_STOP_HYPERBAND_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/statusor.h"

namespace tuning {

// HyperBand (Li et al. 2018), synchronous: trials are assigned to brackets in order of their
// numbers. All trials of a bracket pause at its level, and when the last one has arrived, the best
// one in eta continues to the next level. Brackets differ in how early they compare: the one with
// the most trials and the least resource comes first, and after the last the first begins again.
// Like Ray's HyperBandScheduler, with these differences:
// - Ray begins with the bracket of the fewest trials.
// - Here no bracket waits for a trial that ends, or for one that will never start, so that none
//   waits for ever.
// - The last trial to arrive is not paused if it continues.
// NaN ranks last and never continues. Among equal values the lower number ranks first. A value
// type. Not thread-safe.
class Hyperband {
 public:
  struct Options {
    double max_resource = 81;
    double eta = 3;
    friend bool operator==(const Options&, const Options&) = default;
  };
  static absl::StatusOr<Hyperband> Create(Options options);

  enum class Verdict { kGoesOn, kPauses, kStops };
  struct Arrival {
    Verdict verdict = Verdict::kPauses;
    double level = 0;
    std::size_t rank = 0, count = 0, keeps = 0;
  };
  // `decided`: as in StoppingRule. Unset unless this report reaches a level.
  std::optional<Arrival> Report(std::uint64_t trial, double resource, double value,
                                std::optional<Verdict> decided);
  void End(std::uint64_t trial);
  struct Fate {
    std::uint64_t trial = 0;
    bool goes_on = true;
  };
  // See StoppingRule::Next().
  std::optional<Fate> Next(std::uint64_t begun, bool more_come);
  // Stops waiting: from now on every trial continues.
  void StopInstead() { off_ = true; }

  struct Kind {
    std::size_t trials = 0;
    std::vector<double> levels = {};
  };
  // Returns the kinds of brackets, first to last.
  const std::vector<Kind>& kinds() const { return kinds_; }

 private:
  struct Bracket {
    std::uint64_t first = 0, end = 0;  // Numbers of its trials.
    std::size_t kind = 0;
    std::size_t level = 0;
    std::set<std::uint64_t> out = {};              // Ended, or not continued.
    std::map<std::uint64_t, double> arrived = {};  // Values at the level.
  };
  explicit Hyperband(Options options);
  Bracket& BracketOf(std::uint64_t trial);
  bool IsComplete(const Bracket& bracket, std::uint64_t begun) const;
  void Halve(Bracket& bracket);

  Options options_;
  std::vector<Kind> kinds_;
  std::vector<Bracket> brackets_;
  std::deque<Fate> fates_;
  bool off_ = false;
};

}  // namespace tuning

#endif  // TUNING_STOP_HYPERBAND_H_
