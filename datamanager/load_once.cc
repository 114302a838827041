// Loads all runs below a directory once, like the data manager, for measurements:
//
//   load_once DIRECTORY THREADS          "points=N wall_s=S cpu_s=S busiest_s=S"
//   load_once DIRECTORY THREADS RUN      the same, and "asked_ms=M": how long a query for the
//                                        points of RUN took that arrived after the load began
//
// `cpu_s` is the total of all threads, `busiest_s` that of the busiest one: on an otherwise idle
// machine the load takes as long as that thread.

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/find/run_tree.h"

namespace {

using datamanager::RunCatalog;
using datamanager::RunSource;
using datamanager::RunTree;

double Seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Returns the longest CPU time of a thread.
double SecondsOfTheBusiestThread() {
  std::uint64_t most = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::uint64_t nanoseconds = 0;
    std::ifstream(thread.path() / "schedstat") >> nanoseconds;
    most = std::max(most, nanoseconds);
  }
  return 1e-9 * static_cast<double>(most);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  int threads = 0;
  if (args.size() < 2 || args.size() > 3 || !absl::SimpleAtoi(args[1], &threads)) {
    std::fprintf(stderr, "usage: load_once DIRECTORY THREADS [RUN]\n");
    return 2;
  }
  RunTree::Options tree_options;
  tree_options.root = args[0];
  RunTree tree(tree_options);
  const auto catalog = RunCatalog::Create({.root = args[0],
                                           .byte_budget = std::uint64_t{8} << 30,
                                           .load_threads = threads,
                                           .open_files = threads});
  if (!catalog.ok()) {
    std::fprintf(stderr, "load_once: %s\n", catalog.status().ToString().c_str());
    return 1;
  }
  const RunTree::Delta delta = tree.Rescan();
  const double began = Seconds(CLOCK_MONOTONIC);
  const double cpu_began = Seconds(CLOCK_PROCESS_CPUTIME_ID);
  (*catalog)->Found(delta, tree.runs());
  if (args.size() == 3) {
    RunSource::Request request;
    request.run = args[2];
    request.need = RunSource::Need::kPoints;
    request.whole = true;
    const absl::Status answered = (*catalog)->ReadWithin(
        absl::Minutes(1), request, [](const RunSource::View&) { return absl::OkStatus(); });
    if (!answered.ok()) {
      std::fprintf(stderr, "load_once: %s\n", answered.ToString().c_str());
      return 1;
    }
    std::printf("asked_ms=%.1f ", 1e3 * (Seconds(CLOCK_MONOTONIC) - began));
  }
  if (!(*catalog)->AwaitLoaded(absl::Minutes(10))) return 1;
  const double wall = Seconds(CLOCK_MONOTONIC) - began;
  const double cpu = Seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_began;
  const double busiest = SecondsOfTheBusiestThread();
  std::uint64_t points = 0;
  for (const RunCatalog::RunInfo& run : (*catalog)->Runs()) points += run.points;
  std::printf("points=%llu wall_s=%.3f cpu_s=%.3f busiest_s=%.3f\n",
              static_cast<unsigned long long>(points), wall, cpu, busiest);
  return 0;
}
