// Lock step with a C++ function in this process: how many reports per second a driver gets,
// compared with two bare semaphores that pass a turn back and forth. Prints a table, or JSON with
// --json. A missed limit is displayed, not an error.

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdint>
#include <memory>
#include <semaphore>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/comparison_app.h"
#include "bench/peer_comparison.h"
#include "runtime/clock.h"
#include "runtime/thread.h"
#include "trainer/function/function_runner.h"
#include "trainer/function/functions.h"
#include "trainer/function/named_values.h"
#include "trainer/function/reporter.h"
#include "trainer/function/training_progress.h"

namespace bench {
namespace {

using Kind = PeerComparison::Limit::Kind;

constexpr int kBatch = 100;  // Round trips between two readings of the clock.
constexpr int kTrials = 4;

absl::Duration Now() { return runtime::Clock::Real()->Monotonic(); }

void Train(const trainer::NamedValues&, trainer::Reporter& reporter) {
  for (std::int64_t step = 1;; ++step) {
    reporter.Report({{"step", step}, {"loss", 1.0 / static_cast<double>(step)}});
  }
}

// Returns the reports per second of one function; checks each of them.
absl::StatusOr<double> StepFor(absl::Duration time) {
  trainer::FunctionRunner runner(trainer::MakeFunction("train", Train),
                                 {.trial = {"t-bench", "bench", "/nonexistent"}});
  std::int64_t steps = 0;
  const absl::Duration begin = Now();
  while (Now() - begin < time) {
    for (int i = 0; i < kBatch; ++i) {
      const auto result = runner.Step();
      if (!result.ok()) return result.status();
      if (result->training_iteration != ++steps || result->reported.Integer("step") != steps) {
        return absl::DataLossError(absl::StrCat("step ", steps, " is not the next one"));
      }
    }
  }
  const double rate = static_cast<double>(steps) / absl::ToDoubleSeconds(Now() - begin);
  if (absl::Status stopped = runner.Stop(); !stopped.ok()) return stopped;
  return rate;
}

absl::StatusOr<double> StepManyFor(absl::Duration time) {
  std::vector<absl::StatusOr<double>> rates(kTrials, 0.0);
  {
    std::vector<std::unique_ptr<runtime::Thread>> drivers;
    for (auto& rate : rates) {
      drivers.push_back(
          std::make_unique<runtime::Thread>("driver", [&rate, time] { rate = StepFor(time); }));
    }
    for (auto& driver : drivers) driver->Join();
  }
  double all = 0;
  for (const auto& rate : rates) {
    if (!rate.ok()) return rate;
    all += *rate;
  }
  return all;
}

absl::StatusOr<double> HandOverFor(absl::Duration time) {
  std::binary_semaphore there(0), back(0);
  std::atomic<bool> over = false;
  runtime::Thread other("other", [&] {
    for (there.acquire(); !over; there.acquire()) back.release();
  });
  std::int64_t trips = 0;
  const absl::Duration begin = Now();
  while (Now() - begin < time) {
    for (int i = 0; i < kBatch; ++i, ++trips) {
      there.release();
      back.acquire();
    }
  }
  const double rate = static_cast<double>(trips) / absl::ToDoubleSeconds(Now() - begin);
  over = true;
  there.release();
  other.Join();
  return rate;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::ComparisonApp app("function_runner_benchmark",
                           "Measures the lock step with C++ functions.");
  double seconds = 1;
  app.options()
      .add_option("--seconds", seconds, "How long each figure is measured")
      ->check(CLI::PositiveNumber);
  return app.Run(argc, argv, [&](bench::PeerComparison& comparison) {
    const absl::Duration time = absl::Seconds(seconds);
    comparison.Add("one function", [=] { return bench::StepFor(time); });
    comparison.Add("many functions", [=] { return bench::StepManyFor(time); });
    comparison.Add("bare semaphores", [=] { return bench::HandOverFor(time); });
    comparison.Compare("reports of one function", "reports/s", "one function", "bare semaphores",
                       {bench::Kind::kValueAtLeast, 100'000});
    comparison.Compare(absl::StrCat("reports of ", bench::kTrials, " functions together"),
                       "reports/s", "many functions", "", {bench::Kind::kValueAtLeast, 100'000});
    return absl::OkStatus();
  });
}
