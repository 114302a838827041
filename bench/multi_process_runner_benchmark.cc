// Compares the test library's runner with the original, TensorFlow's multi_process_runner (PyPI's
// tensorflow-cpu, tools/peers tensorflow): a run of tasks that return at once, and lines with a
// prefix, whose rate excludes the time of a run with one line for each task. Prints a table, or
// JSON with --json. A missed limit is displayed, not an error; a wrong number of lines is an error.

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bench/peer_comparison.h"
#include "bench/peers.h"
#include "launcher/testing/call/function.h"
#include "launcher/testing/init.h"
#include "launcher/testing/multi_process_runner.h"
#include "launcher/testing/spec/cluster_spec.h"
#include "launcher/testing/spec/run_options.h"
#include "launcher/testing/spec/run_result.h"
#include "runtime/clock.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace bench {
namespace {

using launcher::testing::Call;
using launcher::testing::CreateClusterSpec;
using launcher::testing::Function;
using launcher::testing::Outcome;
using launcher::testing::RunOptions;
using launcher::testing::RunProcesses;
using Kind = PeerComparison::Limit::Kind;

constexpr int kTasks = 8;
constexpr int kProducers = 2;
constexpr int kLineBytes = 61;
constexpr int kRuns = 5;  // The median of these runs counts.
constexpr absl::Duration kPeerTime = absl::Minutes(5);

// The same work for both, each in its own language. (test_main() of the original starts children
// through its own file, which must be executable and must not have ".py" in its name.)
constexpr char kOriginal[] = R"(#!/usr/bin/env python3
import os
import statistics
import time

import tensorflow as tf

mpr = tf.__internal__.distribute.multi_process_runner
lines = int(os.environ["BENCH_LINES"])
few_lines = int(os.environ["BENCH_FEW_LINES"])


def hello():
    return 1


def chatty(lines):
    for _ in range(lines):
        print("x" * 60)


def timed(function, workers, **options):
    start = time.monotonic()
    mpr.run(function, mpr.create_cluster_spec(num_workers=workers), **options)
    return time.monotonic() - start


class Rates(tf.test.TestCase):
    def test_rates(self):
        timed(hello, 8)
        figures = {"hello": statistics.median(timed(hello, 8) for _ in range(3))}
        start = statistics.median(timed(chatty, 2, args=(1,)) for _ in range(3))
        figures["streamed"] = timed(chatty, 2, args=(lines,)) - start
        figures["returned"] = timed(chatty, 2, args=(few_lines,), return_output=True) - start
        with open(os.environ["BENCH_RESULT"], "w") as file:
            for name, seconds in figures.items():
                print(name, seconds, file=file)


if __name__ == "__main__":
    mpr.test_main()
)";

int Hello() { return 1; }
const Function kHello("Hello", Hello);

// Writes its output in large pieces, as Python does by default.
void Chatter(int lines) {
  setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
  const std::string line(kLineBytes - 1, 'x');
  for (int i = 0; i < lines; ++i) puts(line.c_str());
}
const Function kChatter("Chatter", Chatter);

// For the original, which takes 1.7 s for each megabyte that it returns.
int FewOf(int lines) { return lines / 20; }

double Now() { return absl::ToDoubleSeconds(runtime::Clock::Real()->Monotonic()); }

// Discards the lines of all tasks, as the original does.
class Silence {
 public:
  Silence() : stdout_(dup(STDOUT_FILENO)), stderr_(dup(STDERR_FILENO)) {
    fflush(nullptr);
    const runtime::UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
    dup2(null.get(), STDOUT_FILENO);
    dup2(null.get(), STDERR_FILENO);
  }
  ~Silence() {
    dup2(stdout_.get(), STDOUT_FILENO);
    dup2(stderr_.get(), STDERR_FILENO);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  const runtime::UniqueFd stdout_, stderr_;
};

// Returns the seconds of a run; the result must contain `lines` lines.
absl::StatusOr<double> TimeOf(const Call& call, int tasks, const RunOptions& options,
                              std::size_t lines) {
  const auto spec = CreateClusterSpec(false, tasks);
  if (!spec.ok()) return spec.status();
  const Silence silence;
  const double start = Now();
  const Outcome outcome = RunProcesses(call, *spec, options);
  const double seconds = Now() - start;
  if (!outcome.ok()) return outcome.status;
  const std::string suffix = absl::StrCat(std::string(kLineBytes - 1, 'x'), "\n");
  const auto whole = std::count_if(
      outcome.result.lines.begin(), outcome.result.lines.end(), [&](const std::string& line) {
        return line.size() == 15 + suffix.size() && line.ends_with(suffix);
      });
  if (static_cast<std::size_t>(whole) == lines) return seconds;
  return absl::DataLossError(absl::StrCat(whole, " of ", lines, " lines"));
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

absl::StatusOr<double> MedianOf(const Call& call, int tasks, const RunOptions& options,
                                std::size_t lines) {
  std::vector<double> all;
  for (int i = 0; i < kRuns; ++i) {
    const auto seconds = TimeOf(call, tasks, options, lines);
    if (!seconds.ok()) return seconds.status();
    all.push_back(*seconds);
  }
  return Median(std::move(all));
}

absl::StatusOr<double> MegabytesASecond(int lines, bool returned) {
  RunOptions options;
  options.return_output = returned;
  options.return_output_limit = std::size_t{1} << 30;
  const std::size_t all = static_cast<std::size_t>(lines) * kProducers;
  const auto start = MedianOf(kChatter.With(1), kProducers, options, returned ? kProducers : 0);
  if (!start.ok()) return start.status();
  const auto seconds = MedianOf(kChatter.With(lines), kProducers, options, returned ? all : 0);
  if (!seconds.ok()) return seconds.status();
  // (With few lines the difference may be lost in the noise.)
  return static_cast<double>(all) * kLineBytes / std::max(*seconds - *start, 1e-3) / 1e6;
}

// The original's figures: seconds by name.
class Original {
 public:
  explicit Original(int lines) : lines_(lines) {}

  // Returns a figure of this round; measures when one is requested a second time.
  absl::StatusOr<double> Get(const std::string& name) {
    if (!seen_.insert({name, true}).second || figures_.empty()) {
      if (absl::Status status = Measure(); !status.ok()) return status;
      seen_ = {{name, true}};
    }
    return figures_.at(name);
  }

 private:
  absl::Status Measure() {
    const auto python = FindPeer("tensorflow", "bin/python3");
    if (!python.ok()) return python.status();
    const std::string bin = std::filesystem::path(*python).parent_path();
    char folder[] = "/tmp/mpr-XXXXXX";
    if (mkdtemp(folder) == nullptr) return absl::InternalError("no folder in /tmp");
    const absl::Status status = MeasureIn(folder, bin);
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return status;
  }

  absl::Status MeasureIn(const std::string& folder, const std::string& bin) {
    const std::string program = folder + "/original", result = folder + "/figures";
    std::ofstream(program) << kOriginal;
    chmod(program.c_str(), 0755);
    auto process = runtime::Subprocess::Start(
        {.argv = {program},
         .environment = {absl::StrCat("PATH=", bin, ":/usr/bin:/bin"), "HOME=" + folder,
                         "TMPDIR=" + folder, "CUDA_VISIBLE_DEVICES=", "BENCH_RESULT=" + result,
                         absl::StrCat("BENCH_LINES=", lines_),
                         absl::StrCat("BENCH_FEW_LINES=", FewOf(lines_))},
         .working_directory = folder,
         .new_session = true});
    if (!process.ok()) return process.status();
    const auto end = process->Wait(kPeerTime);
    process->SignalGroup(SIGKILL).IgnoreError();
    if (!end.ok()) return end.status();
    std::ifstream file(result);
    std::string name;
    double seconds = 0;
    figures_.clear();
    while (file >> name >> seconds) figures_[name] = seconds;
    if (figures_.size() == 3) return absl::OkStatus();
    return absl::UnknownError("the original's run failed: " + end->ToString());
  }

  const int lines_;
  std::map<std::string, double> figures_;
  std::map<std::string, bool> seen_;
};

int Main(int argc, char** argv) {
  launcher::testing::Init();
  CLI::App app("Measures the runner of tests beside TensorFlow's multi_process_runner.");
  int rounds = 3, lines = 400'000;
  std::string only;
  bool json = false;
  app.add_option("--rounds", rounds, "How often each figure is measured")
      ->check(CLI::PositiveNumber);
  app.add_option("--lines", lines, "Lines of each of two producers")->check(CLI::PositiveNumber);
  app.add_option("--only", only, "Measures only what has this in its name; for a profiler");
  app.add_flag("--json", json, "Prints JSON");
  CLI11_PARSE(app, argc, argv);
  Original original(lines);
  const auto rate = [&](const std::string& name, int count) -> absl::StatusOr<double> {
    const auto seconds = original.Get(name);
    if (!seconds.ok()) return seconds.status();
    return static_cast<double>(count) * kProducers * kLineBytes / *seconds / 1e6;
  };
  PeerComparison comparison;
  comparison.Add("ours: tasks", [&]() -> absl::StatusOr<double> {
    const auto seconds = MedianOf(kHello, kTasks, {}, 0);
    if (!seconds.ok()) return seconds.status();
    return *seconds * 1e3;
  });
  comparison.Add("original: tasks", [&]() -> absl::StatusOr<double> {
    const auto seconds = original.Get("hello");
    if (!seconds.ok()) return seconds.status();
    return *seconds * 1e3;
  });
  comparison.Add("ours: streamed", [&] { return MegabytesASecond(lines, false); });
  comparison.Add("original: streamed", [&] { return rate("streamed", lines); });
  comparison.Add("ours: returned", [&] { return MegabytesASecond(lines, true); });
  comparison.Add("original: returned", [&] { return rate("returned", FewOf(lines)); });
  comparison.Compare(absl::StrCat("a run of ", kTasks, " tasks that return at once"), "ms",
                     "ours: tasks", "original: tasks", {Kind::kRatioAtMost, 0.05});
  comparison.Compare("lines of 2 tasks, streamed", "MB/s", "ours: streamed", "original: streamed",
                     {Kind::kRatioAtLeast, 40});
  comparison.Compare("lines of 2 tasks, in the result too", "MB/s", "ours: returned",
                     "original: returned", {Kind::kRatioAtLeast, 40});
  const auto table = comparison.Run(rounds, only);
  if (!table.ok()) {
    fprintf(stderr, "multi_process_runner_benchmark: %s\n", table.status().ToString().c_str());
    return 1;
  }
  printf("%s\n", (json ? AsJson(*table, rounds) : AsTable(*table)).c_str());
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Main(argc, argv); }
