#include "bench/comparison_app.h"

#include <cstdio>
#include <utility>

#include "glog/logging.h"

namespace bench {

ComparisonApp::ComparisonApp(std::string name, const std::string& about)
    : name_(std::move(name)), app_(about) {
  app_.add_option("--rounds", rounds_, "How often each figure is measured")
      ->check(CLI::PositiveNumber);
  app_.add_option("--only", only_, "Measures only what has this in its name; for a profiler");
  app_.add_flag("--json", json_, "Prints JSON");
}

int ComparisonApp::Run(int argc, char** argv,
                       const std::function<absl::Status(PeerComparison&)>& add) {
  google::InitGoogleLogging(argv[0]);
  CLI11_PARSE(app_, argc, argv);
  return Measure(add);
}

int ComparisonApp::Measure(const std::function<absl::Status(PeerComparison&)>& add) const {
  const auto fail = [&](const absl::Status& status) {
    std::fprintf(stderr, "%s: %s\n", name_.c_str(), status.ToString().c_str());
    return 1;
  };
  PeerComparison comparison;
  if (absl::Status added = add(comparison); !added.ok()) return fail(added);
  const auto lines = comparison.Run(rounds_, only_);
  if (!lines.ok()) return fail(lines.status());
  std::printf("%s\n", (json_ ? AsJson(*lines, rounds_) : AsTable(*lines)).c_str());
  return 0;
}

}  // namespace bench
