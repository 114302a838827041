#ifndef BENCH_COMPARISON_APP_H_
#define BENCH_COMPARISON_APP_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "bench/peer_comparison.h"

namespace bench {

// The command line of a benchmark that prints a comparison with peers: --rounds, --only and --json,
// and the options that the benchmark adds to options().
class ComparisonApp {
 public:
  ComparisonApp(std::string name, const std::string& about);
  CLI::App& options() { return app_; }
  // Parses the options, calls `add` to add the measurements, measures, and prints the table or the
  // JSON. Returns the exit code of main(): 1 after an error, which is printed; a missed limit is
  // not an error.
  int Run(int argc, char** argv, const std::function<absl::Status(PeerComparison&)>& add);

 private:
  int Measure(const std::function<absl::Status(PeerComparison&)>& add) const;

  const std::string name_;
  CLI::App app_;
  int rounds_ = 5;
  std::string only_;
  bool json_ = false;
};

}  // namespace bench

#endif  // BENCH_COMPARISON_APP_H_
