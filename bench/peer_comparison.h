#ifndef BENCH_PEER_COMPARISON_H_
#define BENCH_PEER_COMPARISON_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bench {

// Compares our figures with those of peers, measured in the same run. Each round measures
// everything once, and ratios are computed within a round, so that a phase in which the machine is
// slow affects both sides. Not thread-safe.
class PeerComparison {
 public:
  using Measure = std::function<absl::StatusOr<double>()>;
  // The limit of a line: on the ratio to the peer, on the difference from it, or on the value
  // itself. Lines that are only displayed have no limit.
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
    double ours = 0;  // Both figures are medians of the rounds.
    std::string peer_name;
    double peer = 0;
    double ratio = 0;
    // The best case of the figure that the limit applies to; for a ratio, our best value divided by
    // the peer's best value. 0 without a limit.
    double best = 0;
    Limit limit;
    std::string missing;  // If not empty, why there is no figure.
    bool holds() const;   // Checks the medians, which is stricter than `best`.
  };

  // Adds a measurement; they run in the order of adding. NotFound means that this machine lacks
  // what is measured.
  void Add(const std::string& name, Measure measure);
  // Adds a line of the table, which refers to measurements by name; an empty `peer` means no peer.
  void Compare(std::string what, std::string unit, std::string ours, std::string peer, Limit limit);
  // Runs the rounds; any error except NotFound ends them. If `only` is set, runs just the
  // measurements whose names contain it, each as a line of its own.
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
