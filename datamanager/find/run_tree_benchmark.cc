// Measures listing 10,000 runs (target: 1 s), and detecting that none of them has changed (target:
// 50 ms).

#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "datamanager/find/run_tree.h"
#include "runtime/fake_clock.h"

namespace datamanager {
namespace {

// A small number if this runs as a smoke test.
int Runs() { return getenv("BENCHMARK_SMOKE") != nullptr ? 100 : 10'000; }

// Groups of 100 runs, each with an event file and two other files; removed at exit.
class Logs {
 public:
  Logs() {
    char name[] = "/tmp/runs-XXXXXX";
    root_ = mkdtemp(name);
    for (int i = 0; i < Runs(); ++i) {
      const std::string run = absl::StrCat(root_, "/group-", i / 100, "/run-", i);
      std::filesystem::create_directories(run);
      for (const char* file :
           {"events.out.tfevents.1700000000.host", "params.json", "result.json"}) {
        std::ofstream(absl::StrCat(run, "/", file)) << "x";
      }
    }
  }
  ~Logs() { std::filesystem::remove_all(root_); }

  RunTree::Options Options(int threads) {
    RunTree::Options options;
    options.root = root_;
    options.threads = threads;
    options.clock = &clock_;
    return options;
  }

 private:
  // Late enough that all directories count as settled.
  runtime::FakeClock clock_{absl::Now() + absl::Hours(1)};
  std::string root_;
};

RunTree::Options Options(const benchmark::State& state) {
  static Logs logs;
  return logs.Options(static_cast<int>(state.range(0)));
}

void BM_FirstScan(benchmark::State& state) {
  const RunTree::Options options = Options(state);
  const auto runs = static_cast<std::size_t>(Runs());
  for (auto _ : state) {
    RunTree tree(options);
    if (tree.Rescan().added.size() != runs) state.SkipWithError("runs are missing");
  }
}
BENCHMARK(BM_FirstScan)->ArgName("threads")->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond);

void BM_NothingNew(benchmark::State& state) {
  RunTree tree(Options(state));
  tree.Rescan();
  const auto scope = state.range(1) == 0 ? RunTree::Scope::kChanged : RunTree::Scope::kAll;
  for (auto _ : state) {
    if (!tree.Rescan(scope).changed.empty()) state.SkipWithError("something has changed");
  }
}
BENCHMARK(BM_NothingNew)
    ->ArgNames({"threads", "files"})
    ->ArgsProduct({{1, 2}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace datamanager
