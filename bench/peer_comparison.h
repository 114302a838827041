#ifndef BENCH_PEER_COMPARISON_H_
#define BENCH_PEER_COMPARISON_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bench {

// Figures of ours beside those of peers, measured in the same run: each round measures everything
// once, and ratios are taken within a round, so that a machine that is slow for a while is slow
// for both. Not thread safe.
class PeerComparison {
 public:
  using Measure = std::function<absl::StatusOr<double>()>;
  // The limit that a line must keep: on the ratio to the peer, on the difference from it, or on the
  // value itself. Figures that are only shown have no limit.
  struct Limit {
    enum class Kind {
      kNone,
      kRatioAtLeast,
      kRatioAtMost,
      kValueAtLeast,
      kValueAtMost,
      kAbovePeerAtMost
    };
    Kind kind = Kind::kNone;
    double bound = 0;
  };
  struct Line {
    std::string what;
    std::string unit;
    double ours = 0;  // Medians of the rounds.
    std::string peer_name;
    double peer = 0;
    double ratio = 0;
    // The figure that the limit holds for, at its best; for a ratio, our best value to the peer's
    // best value. 0 where there is no limit.
    double best = 0;
    Limit limit;
    std::string missing;  // Not empty: why there is no figure.
    bool holds() const;   // As medians, which is more than at best.
  };

  // A measurement; measured in the order of adding. NotFound: it cannot be had on this machine.
  void Add(const std::string& name, Measure measure);
  // A line of the table, of measurements by name; `peer` empty: none.
  void Compare(std::string what, std::string unit, std::string ours, std::string peer, Limit limit);
  // The first error but NotFound ends it. `only`: the measurements with that in their names, each
  // a line of its own.
  absl::StatusOr<std::vector<Line>> Run(int rounds, const std::string& only = "");

 private:
  struct Measurement {
    std::string name;
    Measure measure;
  };
  struct Wanted {
    Line line;
    std::string ours;
  };
  struct Samples {
    std::vector<double> values;
    std::string missing;
  };
  static Line Fill(const Wanted& wanted, const std::map<std::string, Samples>& samples);

  std::vector<Measurement> measurements_;
  std::vector<Wanted> wanted_;
};

std::string AsTable(const std::vector<PeerComparison::Line>& lines);
std::string AsJson(const std::vector<PeerComparison::Line>& lines, int rounds);

}  // namespace bench

#endif  // BENCH_PEER_COMPARISON_H_
