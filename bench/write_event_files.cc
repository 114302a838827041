// Writes event files for manual measurements and for tests of programs:
//
//   write_event_files DIRECTORY old|new|mindspore RUNS STEPS TAGS [SEED [SPIKE]]
//
// SPIKE is the step at which all values are 1,000.

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "bench/event_files.h"

using Style = bench::EventFilesOptions::Style;

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  bench::EventFilesOptions options;
  const std::map<std::string, Style> styles = {
      {"old", Style::kOld}, {"new", Style::kNew}, {"mindspore", Style::kMindSpore}};
  const bool right = args.size() >= 5 && args.size() <= 7 && styles.count(args[1]) == 1 &&
                     absl::SimpleAtoi(args[2], &options.runs) &&
                     absl::SimpleAtoi(args[3], &options.steps) &&
                     absl::SimpleAtoi(args[4], &options.tags) &&
                     (args.size() == 5 || absl::SimpleAtoi(args[5], &options.seed)) &&
                     (args.size() < 7 || absl::SimpleAtoi(args[6], &options.spike));
  if (!right) {
    std::fprintf(
        stderr,
        "usage: write_event_files DIRECTORY old|new|mindspore RUNS STEPS TAGS [SEED [SPIKE]]\n");
    return 2;
  }
  options.style = styles.at(args[1]);
  const auto written = bench::WriteEventFiles(args[0], options);
  if (!written.ok()) {
    std::fprintf(stderr, "write_event_files: %s\n", written.status().ToString().c_str());
    return 1;
  }
  std::printf("%llu records, %llu points, %llu bytes\n",
              static_cast<unsigned long long>(written->records),
              static_cast<unsigned long long>(written->points),
              static_cast<unsigned long long>(written->bytes));
  return 0;
}
