#ifndef TUNING_STOP_BANDS_H_
#define TUNING_STOP_BANDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"

namespace tuning {

// The rule that W&B calls `early_terminate: hyperband` (its engine, `sweeps` 0.3.0): values are
// counted, and the values that all trials had as their 3rd, 9th, ... are compared. A trial is
// stopped if its value at the last band that it has reached is worse than the limit: the value that
// floor(n / eta) of the n values there are better than. One difference: here a trial is judged when
// it reports, in W&B whenever the server checks. Values that are not finite do not count. A value
// type. Not thread-safe.
class Bands {
 public:
  struct Options {
    double eta = 3;
    bool strict = true;  // True: uses the value at the band; false: the best so far.
    // Bands are given in one of two ways: at min_iter, min_iter eta, ..., or `s` of them at
    // max_iter / eta, max_iter / eta^2, ...
    std::size_t min_iter = 0;
    std::size_t max_iter = 0;
    std::size_t s = 0;
    friend bool operator==(const Options&, const Options&) = default;
  };
  // InvalidArgument names the invalid option.
  static absl::StatusOr<Bands> Create(Options options);

  // `own` is the value that was compared with `limit`.
  struct Verdict {
    bool goes_on = true;
    bool counts = true;     // Its value counts.
    std::size_t band = 0;   // 0: it has reached none.
    std::size_t count = 0;  // How many have reached it, with this one.
    double own = 0;
    double limit = 0;
  };
  // A value that does not count is judged by the values before it.
  Verdict Report(std::uint64_t trial, double value);

  struct Band {
    std::size_t at = 0;
    std::vector<double> values = {};  // Best first.
  };
  const std::vector<Band>& bands() const { return bands_; }
  // Returns the worst value that continues at a band with values.
  double LimitOf(const Band& band) const;

 private:
  struct Trial {
    std::size_t count = 0;
    double best = 0;
    std::vector<double> at_bands = {};  // Its values at the bands that it has reached.
  };
  explicit Bands(Options options) : options_(options) {}
  void Count(Trial& trial, double value);

  Options options_;
  std::vector<Band> bands_;
  std::map<std::uint64_t, Trial> trials_;
};

}  // namespace tuning

#endif  // TUNING_STOP_BANDS_H_
