// Compares the trainer with Ray Tune and with the limit of the machine: reports in lock step,
// trials, memory. Prints a table, or JSON with --json. A missed limit is displayed, not an error,
// because it depends on the machine; a wrong count is an error.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/comparison_app.h"
#include "bench/launcher_figures.h"
#include "bench/peer_comparison.h"
#include "bench/ray_figures.h"
#include "bench/together.h"
#include "bench/trainer_figures.h"

namespace bench {
namespace {

using Kind = PeerComparison::Limit::Kind;

// Sizes of the measurements in a full run; `scale` shrinks all of them.
struct Sizes {
  double scale = 1;
  bool queue = false;
  int Of(int full) const { return std::max(static_cast<int>(full * scale), 2); }
  int reports() const { return Of(10'000); }
  int paced_reports() const { return Of(2'000); }
  int durable_reports() const { return Of(1'000); }
  int trials() const { return Of(40); }
  int finished() const { return Of(1'000); }
  int ended() const { return Of(10'000); }
  int queued() const { return Of(1'600); }
  int measured() const { return Of(50); }
  absl::Duration measured_time() const { return absl::Seconds(60) * scale; }
  int ray_reports() const { return Of(500); }
  int ray_trials() const { return Of(4); }
};

// With this interval 8 programs send 5,000 reports per second.
constexpr absl::Duration kPace = absl::Microseconds(1'600);

double Ms(absl::Duration duration) { return absl::ToDoubleMilliseconds(duration); }

void AddReports(PeerComparison& comparison, const Sizes& sizes) {
  const auto rate = [](const ReportRate& f) { return f.per_second; };
  const auto p50 = [](const ReportRate& f) { return Ms(f.p50); };
  const auto p99 = [](const ReportRate& f) { return Ms(f.p99); };
  const auto full = Together<ReportRate>::Of(
      [=] { return MeasureReports(sizes.reports(), absl::ZeroDuration(), false); });
  const auto bare = Together<ReportRate>::Of(
      [=] { return MeasureBareReports(sizes.reports(), absl::ZeroDuration()); });
  const auto paced =
      Together<ReportRate>::Of([=] { return MeasureReports(sizes.paced_reports(), kPace, false); });
  const auto bare_paced =
      Together<ReportRate>::Of([=] { return MeasureBareReports(sizes.paced_reports(), kPace); });
  const auto durable = Together<ReportRate>::Of(
      [=] { return MeasureReports(sizes.durable_reports(), absl::ZeroDuration(), true); });
  Add<ReportRate>(comparison, "reports", full, rate);
  Add<ReportRate>(comparison, "bare answers", bare, rate);
  Add<ReportRate>(comparison, "paced reports: p50", paced, p50);
  Add<ReportRate>(comparison, "bare paced answers: p50", bare_paced, p50);
  Add<ReportRate>(comparison, "paced reports: p99", paced, p99);
  Add<ReportRate>(comparison, "bare paced answers: p99", bare_paced, p99);
  Add<ReportRate>(comparison, "durable reports", durable, rate);
  comparison.Compare("8 programs in lock step", "reports/s", "reports", "",
                     {Kind::kValueAtLeast, 20'000});
  comparison.Compare("the same beside Ray Tune", "reports/s", "reports", "Ray: reports",
                     {Kind::kRatioAtLeast, 20});
  comparison.Compare("the same beside a loop that only answers", "reports/s", "reports",
                     "bare answers", {});
  comparison.Compare("an answer at 5,000 reports/s, p50", "ms", "paced reports: p50",
                     "bare paced answers: p50", {});
  comparison.Compare("the same, p99", "ms", "paced reports: p99", "bare paced answers: p99",
                     {Kind::kValueAtMost, 1});
  comparison.Compare("8 durable programs in lock step", "reports/s", "durable reports", "", {});
}

void AddTrials(PeerComparison& comparison, const Sizes& sizes) {
  const auto trials = Together<TrialTimes>::Of([=] { return MeasureTrials(sizes.trials()); });
  const auto bare = Together<Bare>::Of([=] { return MeasureBare(sizes.trials()); });
  Add<TrialTimes>(comparison, "trials: start", trials, [](const auto& f) { return Ms(f.start); });
  Add<TrialTimes>(comparison, "trials: one report", trials,
                  [](const auto& f) { return Ms(f.one_report); });
  Add<Bare>(comparison, "bare spawn", bare, [](const auto& f) { return Ms(f.one); });
  comparison.Compare("a trial, from the call to its first instruction", "ms", "trials: start",
                     "bare spawn", {Kind::kAbovePeerAtMost, 2});
  comparison.Compare("a trial of one report, from the call to its end", "ms", "trials: one report",
                     "Ray: trial", {Kind::kRatioAtMost, 0.01});
}

void AddMemory(PeerComparison& comparison, const Sizes& sizes) {
  const auto memory =
      Together<TrainerMemory>::Of([=] { return MeasureTrainerMemory(sizes.finished()); });
  Add<TrainerMemory>(comparison, "memory: at rest", memory,
                     [](const auto& f) { return f.at_rest_kilobytes / 1e3; });
  Add<TrainerMemory>(comparison, "memory: finished trial", memory,
                     [](const auto& f) { return f.finished_trial_kilobytes; });
  Add<TrainerMemory>(comparison, "memory: ended job", memory,
                     [](const auto& f) { return f.ended_job_kilobytes; });
  comparison.Compare("memory of all services at rest", "MB", "memory: at rest", "Ray: memory",
                     {Kind::kRatioAtMost, 0.1});
  const std::string each = absl::StrCat(" for each of ", sizes.finished(), " ended trials");
  comparison.Compare(absl::StrCat("growth of the trainer", each), "kB", "memory: finished trial",
                     "", {Kind::kValueAtMost, 2});
  comparison.Compare(absl::StrCat("growth of the launcher", each), "kB", "memory: ended job", "",
                     {});
}

void AddRestart(PeerComparison& comparison, const Sizes& sizes) {
  const int ended = sizes.ended();
  const auto figures = Together<RestartFigures>::Of([=] { return MeasureRestart(ended); });
  Add<RestartFigures>(comparison, "restart: wait", figures,
                      [](const auto& f) { return Ms(f.wait); });
  Add<RestartFigures>(comparison, "restart: known trial", figures,
                      [](const auto& f) { return f.known_trial_kilobytes; });
  comparison.Compare(absl::StrCat("a report meets a new trainer with ", ended, " ended trials"),
                     "ms", "restart: wait", "", {Kind::kValueAtMost, 1'000});
  comparison.Compare("each of those ended trials in the memory of the trainer", "kB",
                     "restart: known trial", "", {Kind::kValueAtMost, 2});
}

void AddSystemMetrics(PeerComparison& comparison, const Sizes& sizes) {
  const int trials = sizes.measured();
  comparison.Add("system metrics", [=]() -> absl::StatusOr<double> {
    const auto share = MeasureSystemMetrics(trials, sizes.measured_time());
    if (!share.ok()) return share.status();
    return *share * 100;
  });
  comparison.Compare(absl::StrCat("system metrics of ", trials, " trials, all services"),
                     "% of a core", "system metrics", "", {Kind::kValueAtMost, 0.5});
}

void AddRay(PeerComparison& comparison, const Sizes& sizes) {
  const auto ray =
      Together<RayFigures>::Of([=] { return MeasureRay(sizes.ray_reports(), sizes.ray_trials()); });
  Add<RayFigures>(comparison, "Ray: reports", ray,
                  [](const auto& f) { return f.reports_per_second; });
  Add<RayFigures>(comparison, "Ray: trial", ray,
                  [](const auto& f) { return f.one_report_trial_ms; });
  Add<RayFigures>(comparison, "Ray: memory", ray,
                  [](const auto& f) { return f.at_rest_megabytes; });
}

void AddQueue(PeerComparison& comparison, const Sizes& sizes) {
  const int trials = sizes.queued();
  comparison.Add("queue", [=]() -> absl::StatusOr<double> {
    const auto took = MeasureQueue(trials);
    if (!took.ok()) return took.status();
    return absl::ToDoubleSeconds(*took);
  });
  comparison.Compare(absl::StrCat(trials, " trials of 1 s on 16 slots"), "s", "queue", "",
                     {Kind::kValueAtMost, (trials + 15) / 16 * 1.04});
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::ComparisonApp app("trainer_benchmark",
                           "Measures the trainer beside Ray Tune and the bare machine.");
  bench::Sizes sizes;
  app.options()
      .add_option("--scale", sizes.scale, "Share of all numbers of reports and trials")
      ->check(CLI::PositiveNumber);
  app.options().add_flag("--queue", sizes.queue,
                         "Measures 1,600 trials of a second on 16 slots, too (100 s a round)");
  return app.Run(argc, argv, [&](bench::PeerComparison& comparison) {
    bench::AddReports(comparison, sizes);
    bench::AddTrials(comparison, sizes);
    bench::AddMemory(comparison, sizes);
    bench::AddRestart(comparison, sizes);
    bench::AddSystemMetrics(comparison, sizes);
    bench::AddRay(comparison, sizes);
    if (sizes.queue) bench::AddQueue(comparison, sizes);
    return absl::OkStatus();
  });
}
