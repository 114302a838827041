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
// stopped if its value at the last band that it has come to is worse than the one that a share of 1
// / eta of them, rounded down, is better than. One thing differs: here a trial is judged at its own
// reports, there whenever the server looks. Values that are no finite numbers are not counted. A
// value type. One thread at a time.
class Bands {
 public:
  struct Options {
    double eta = 3;
    bool strict = true;  // The value at the band counts; else the best until now.
    // Bands are given by one of the two: at min_iter, min_iter eta, ..., or at max_iter / eta,
    // max_iter / eta^2,
    // ..., `s` of them.
    std::size_t min_iter = 0;
    std::size_t max_iter = 0;
    std::size_t s = 0;
    friend bool operator==(const Options&, const Options&) = default;
  };
  // InvalidArgument names the option that cannot be.
  static absl::StatusOr<Bands> Create(Options options);

  struct Verdict {
    bool goes_on = true;
    bool counts = true;     // Its value does.
    std::size_t band = 0;   // 0: it has come to none.
    std::size_t count = 0;  // That have come to it, with this one.
    double own = 0;
    double limit = 0;
  };
  // A value that does not count is judged by those before it.
  Verdict Report(std::uint64_t trial, double value);

  struct Band {
    std::size_t at = 0;
    std::vector<double> values = {};  // Best first.
  };
  const std::vector<Band>& bands() const { return bands_; }
  // The worst value that goes on at a band that has values.
  double LimitOf(const Band& band) const;

 private:
  struct Trial {
    std::size_t count = 0;
    double best = 0;
    std::vector<double> at_bands = {};  // The values at the bands that it has come to.
  };
  explicit Bands(Options options) : options_(options) {}
  void Count(Trial& trial, double value);

  Options options_;
  std::vector<Band> bands_;
  std::map<std::uint64_t, Trial> trials_;
};

}  // namespace tuning

#endif  // TUNING_STOP_BANDS_H_
