// Compares the launcher with supervisord, s6, torchrun and `cat`: starting, stopping and restarting
// tasks, memory, calls, output, a new launcher. Prints a table, or JSON with --json. A missed limit
// is displayed, not an error, because it depends on the machine; a wrong count is an error.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/comparison_app.h"
#include "bench/launcher_figures.h"
#include "bench/peer_comparison.h"
#include "bench/supervisors.h"
#include "bench/together.h"

namespace bench {
namespace {

using Kind = PeerComparison::Limit::Kind;

// Sizes of the measurements in a full run; `scale` shrinks all of them.
struct Sizes {
  double scale = 1;
  int Of(int full, int least = 2) const { return std::max(static_cast<int>(full * scale), least); }
  int tasks() const { return Of(500); }
  int jobs() const { return Of(1000); }
  int kills() const { return Of(200); }
  int gangs() const { return Of(20); }
  int peer_kills() const { return Of(5); }
  int torch_kills() const { return Of(3, 1); }
  int crashing() const { return Of(100); }
  absl::Duration burst() const { return absl::Seconds(10) * scale; }
  absl::Duration crash_time() const { return absl::Seconds(10) * scale; }
  int taken_up() const { return Of(200); }
  std::int64_t lines() const { return Of(10'000'000, 8'000) / 8 * 8; }
  // (These take a producer 2 s.)
  std::int64_t paced_lines() const { return Of(1'600'000, 8'000) / 8 * 8; }
  int spawns() const { return Of(500); }
};

double Ms(absl::Duration duration) { return absl::ToDoubleMilliseconds(duration); }

// A measurement of a single duration.
PeerComparison::Measure InMs(std::function<absl::StatusOr<absl::Duration>()> measure) {
  return [measure = std::move(measure)]() -> absl::StatusOr<double> {
    const auto took = measure();
    if (!took.ok()) return took.status();
    return Ms(*took);
  };
}

// The same programs, started by a loop that does nothing else: the limit of this machine.
void AddBare(PeerComparison& comparison, const Sizes& sizes) {
  const auto bare = Together<Bare>::Of([=] { return MeasureBare(sizes.tasks()); });
  Add<Bare>(comparison, "a bare loop: all", bare, [](const auto& f) { return Ms(f.all); });
  Add<Bare>(comparison, "a bare loop: one", bare, [](const auto& f) { return Ms(f.one); });
}

void AddBringUp(PeerComparison& comparison, const Sizes& sizes, bool one_job) {
  const int tasks = sizes.tasks();
  const std::string what =
      one_job ? absl::StrCat("one job of ", tasks, " tasks") : absl::StrCat(tasks, " jobs");
  const auto ours = Together<BringUp>::Of([=] { return MeasureBringUp(tasks, one_job); });
  Add<BringUp>(comparison, what + ": start", ours, [](const auto& f) { return Ms(f.started); });
  Add<BringUp>(comparison, what + ": stop", ours, [](const auto& f) { return Ms(f.stopped); });
  Add<BringUp>(comparison, what + ": memory", ours,
               [](const auto& f) { return f.resident_kilobytes / 1000; });
  Add<BringUp>(comparison, what + ": growth", ours,
               [](const auto& f) { return f.growth_kilobytes; });
  Add<BringUp>(comparison, what + ": shim", ours, [](const auto& f) { return f.shim_kilobytes; });
  comparison.Compare(what + ", from the call to the last exec", "ms", what + ": start", "",
                     {Kind::kValueAtMost, 500});
  comparison.Compare(what + ", from the call to the last exec", "ms", what + ": start",
                     "supervisord, first to last", {Kind::kRatioAtMost, 0.25});
  comparison.Compare(what + ", from the call to the last exec", "ms", what + ": start",
                     "a bare loop: all", {});
  comparison.Compare(what + ", stopped", "ms", what + ": stop", "", {Kind::kValueAtMost, 150});
  comparison.Compare(what + ", stopped", "ms", what + ": stop", "supervisord: stop", {});
  comparison.Compare(what + ", memory of the launcher", "MB", what + ": memory", "",
                     {Kind::kValueAtMost, 25});
  comparison.Compare(what + ", memory of the launcher", "MB", what + ": memory",
                     "supervisord: memory", {});
  comparison.Compare(what + ", its growth for a task", "kB", what + ": growth", "",
                     {Kind::kValueAtMost, 12});
  comparison.Compare(what + ", proportional memory of a shim", "kB", what + ": shim", "",
                     {Kind::kValueAtMost, 100});
}

void AddSupervisord(PeerComparison& comparison, const Sizes& sizes) {
  const auto peer = Together<Supervisord>::Of([=] { return MeasureSupervisord(sizes.tasks()); });
  Add<Supervisord>(comparison, "supervisord, first to last", peer,
                   [](const auto& f) { return Ms(f.first_to_last); });
  Add<Supervisord>(comparison, "supervisord: from its exec", peer,
                   [](const auto& f) { return Ms(f.all_started); });
  Add<Supervisord>(comparison, "supervisord: stop", peer,
                   [](const auto& f) { return Ms(f.stopped); });
  Add<Supervisord>(comparison, "supervisord: memory", peer,
                   [](const auto& f) { return f.resident_kilobytes / 1000; });
  comparison.Compare("supervisord, from its exec to the last program", "ms",
                     "supervisord: from its exec", "", {});
}

void AddRestarts(PeerComparison& comparison, const Sizes& sizes) {
  const auto ours = Together<Restarts>::Of([=] { return MeasureRestarts(sizes.kills()); });
  Add<Restarts>(comparison, "restart, p50", ours, [](const auto& f) { return Ms(f.p50); });
  Add<Restarts>(comparison, "restart, p99", ours, [](const auto& f) { return Ms(f.p99); });
  comparison.Add("supervisord: restart",
                 InMs([=] { return SupervisordRestart(sizes.peer_kills()); }));
  comparison.Add("s6: restart", InMs([=] { return S6Restart(sizes.peer_kills()); }));
  comparison.Add("gang", InMs([=] { return MeasureGangs(sizes.gangs()); }));
  comparison.Add("torchrun", InMs([=] { return TorchrunRestart(sizes.torch_kills()); }));
  comparison.Compare("SIGKILL of a task to the new process, p50", "ms", "restart, p50", "",
                     {Kind::kValueAtMost, 2});
  comparison.Compare("SIGKILL of a task to the new process, p99", "ms", "restart, p99", "",
                     {Kind::kValueAtMost, 10});
  comparison.Compare("SIGKILL of a task to the new process, p50", "ms", "restart, p50",
                     "supervisord: restart", {});
  comparison.Compare("SIGKILL of a task to the new process, p50", "ms", "restart, p50",
                     "s6: restart", {});
  comparison.Compare("SIGKILL of a task to the new process, p50", "ms", "restart, p50",
                     "a bare loop: one", {});
  comparison.Compare("one of a gang of 4 killed to the last of the new 4", "ms", "gang", "",
                     {Kind::kValueAtMost, 50});
  comparison.Compare("one of a gang of 4 killed to the last of the new 4", "ms", "gang", "torchrun",
                     {});
}

void AddCalls(PeerComparison& comparison, const Sizes& sizes) {
  const auto ours = Together<Calls>::Of([=] { return MeasureCalls(sizes.jobs()); });
  Add<Calls>(comparison, "launch, p99", ours, [](const auto& f) { return Ms(f.launch); });
  Add<Calls>(comparison, "jobs, p99", ours, [](const auto& f) { return Ms(f.question); });
  Add<Calls>(comparison, "launch together, p99", ours,
             [](const auto& f) { return Ms(f.launch_together); });
  const std::string jobs = absl::StrCat(sizes.jobs(), " jobs");
  comparison.Compare(jobs + " launched, p99 of the call", "ms", "launch, p99", "",
                     {Kind::kValueAtMost, 5});
  comparison.Compare(jobs + " running, p99 of a question for one", "ms", "jobs, p99", "",
                     {Kind::kValueAtMost, 5});
  comparison.Compare(jobs + " launched with all calls under way, p99", "ms", "launch together, p99",
                     "", {});
}

void AddTakeUp(PeerComparison& comparison, const Sizes& sizes, bool one_job) {
  const int tasks = sizes.taken_up();
  const std::string what = absl::StrCat(
      one_job ? absl::StrCat("one job of ", tasks, " tasks") : absl::StrCat(tasks, " jobs"),
      " taken up by a new launcher, ");
  const auto ours = Together<TakeUp>::Of([=] { return MeasureTakeUp(tasks, one_job); });
  Add<TakeUp>(comparison, what + "open", ours, [](const auto& f) { return Ms(f.since_open); });
  Add<TakeUp>(comparison, what + "exec", ours, [](const auto& f) { return Ms(f.since_exec); });
  comparison.Compare(what + "since it opens its state", "ms", what + "open", "",
                     {Kind::kValueAtMost, 50});
  comparison.Compare(what + "since its exec", "ms", what + "exec", "", {});
}

void AddCosts(PeerComparison& comparison, const Sizes& sizes) {
  comparison.Add("crash loops", [=]() -> absl::StatusOr<double> {
    const auto share = MeasureCrashLoops(sizes.crashing(), sizes.burst(), sizes.crash_time());
    if (!share.ok()) return share.status();
    return *share * 100;
  });
  comparison.Compare(absl::StrCat(sizes.crashing(), " crash-looping tasks, all that they cost"),
                     "% of a core", "crash loops", "", {Kind::kValueAtMost, 5});
  comparison.Add("spawns", [=] { return MeasureSpawns(sizes.spawns(), 0); });
  comparison.Add("spawns with 300 MB", [=] { return MeasureSpawns(sizes.spawns(), 300); });
  comparison.Compare("programs started by a process of 300 MB more", "/s", "spawns with 300 MB",
                     "spawns", {Kind::kRatioAtLeast, 0.9});
}

void AddOutput(PeerComparison& comparison, const Sizes& sizes) {
  const auto lines = sizes.lines();
  const auto paced = sizes.paced_lines();
  const auto rate = [](const Output& f) { return f.bytes_per_second / 1e6; };
  const auto slowest = [](const Output& f) { return f.slowest_seconds; };
  const auto bad = [](const Output& f) { return static_cast<double>(f.bad_lines); };
  const auto cat = Together<Output>::Of([=] { return MeasureCat(lines); });
  const auto ours = Together<Output>::Of([=] { return MeasureOutput(lines, false, false); });
  const auto read = Together<Output>::Of([=] { return MeasureOutput(lines, true, false); });
  const auto alone = Together<Output>::Of([=] { return MeasureOutput(paced, false, true); });
  const auto followed = Together<Output>::Of([=] { return MeasureOutput(paced, true, true); });
  Add<Output>(comparison, "cat > file", cat, rate);
  Add<Output>(comparison, "output", ours, rate);
  Add<Output>(comparison, "output: lines", ours, bad);
  Add<Output>(comparison, "output: slowest", ours, slowest);
  Add<Output>(comparison, "output with readers: slowest", read, slowest);
  Add<Output>(comparison, "output with readers: lines", read, bad);
  Add<Output>(comparison, "paced output: slowest", alone, slowest);
  Add<Output>(comparison, "paced output with readers: slowest", followed, slowest);
  comparison.Compare("8 producers of 100-byte lines, into files", "MB/s", "output", "cat > file",
                     {Kind::kRatioAtLeast, 0.5});
  comparison.Compare(absl::StrCat("missing or mixed of ", lines, " lines"), "lines",
                     "output: lines", "", {Kind::kValueAtMost, 0});
  comparison.Compare("the same, with `logs -f` of each", "lines", "output with readers: lines", "",
                     {Kind::kValueAtMost, 0});
  comparison.Compare("slowest of 8 at 10 MB/s each, with `logs -f` of each", "s",
                     "paced output with readers: slowest", "paced output: slowest",
                     {Kind::kRatioAtMost, 1.1});
  comparison.Compare("slowest of 8 as fast as they can, with `logs -f` of each", "s",
                     "output with readers: slowest", "output: slowest", {Kind::kRatioAtMost, 1.1});
}

void AddAll(PeerComparison& comparison, const Sizes& sizes) {
  AddSupervisord(comparison, sizes);
  AddBare(comparison, sizes);
  AddBringUp(comparison, sizes, true);
  AddBringUp(comparison, sizes, false);
  AddRestarts(comparison, sizes);
  AddCalls(comparison, sizes);
  AddTakeUp(comparison, sizes, true);
  AddTakeUp(comparison, sizes, false);
  AddCosts(comparison, sizes);
  AddOutput(comparison, sizes);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::ComparisonApp app("launcher_benchmark",
                           "Measures the launcher beside supervisord, s6, torchrun and cat.");
  bench::Sizes sizes;
  app.options()
      .add_option("--scale", sizes.scale, "Share of all numbers of tasks, kills and lines")
      ->check(CLI::PositiveNumber);
  return app.Run(argc, argv, [&](bench::PeerComparison& comparison) {
    bench::AddAll(comparison, sizes);
    return absl::OkStatus();
  });
}
