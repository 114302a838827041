#ifndef BENCH_LAUNCHER_FIGURES_H_
#define BENCH_LAUNCHER_FIGURES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bench {

// Measurements of the launcher, each with a launcher of its own (as a process, called over the
// bus). The time at which a task runs is the one that its program has noted (stamp.cc). All counts
// are checked: a task, a line or a byte too few or too many is an error.

// `tasks` tasks that stay, as one job or as so many jobs with all their calls under way together.
struct BringUp {
  absl::Duration started;  // From the call to the last program running.
  absl::Duration stopped;  // From the call(s) to the last program gone.
  double resident_kilobytes = 0;
  double growth_kilobytes = 0;  // For each task.
  double shim_kilobytes = 0;    // Proportional set size: median.
};
absl::StatusOr<BringUp> MeasureBringUp(int tasks, bool one_job);

// The 99th percentiles of calls: of `jobs` Launch calls one after the other, of all of them under
// way together, and of questions for a job while so many run.
struct Calls {
  absl::Duration launch, launch_together, question;
};
absl::StatusOr<Calls> MeasureCalls(int jobs);

// From SIGKILL of a task to its new process running; each task is killed once.
struct Restarts {
  absl::Duration p50, p99;
};
absl::StatusOr<Restarts> MeasureRestarts(int kills);
// From SIGKILL of one task of a gang of four to the last of the new four: the median.
absl::StatusOr<absl::Duration> MeasureGangs(int kills);

// The cost of `tasks` tasks that end at once and are always restarted: the processor time of the
// launcher, its shims and the tasks together, in shares of a core, over `time`, which begins
// `burst` after each has started twice.
absl::StatusOr<double> MeasureCrashLoops(int tasks, absl::Duration burst, absl::Duration time);

// Tasks taken up by a new launcher after the old one was killed.
struct TakeUp {
  absl::Duration since_exec, since_open;
};
absl::StatusOr<TakeUp> MeasureTakeUp(int tasks, bool one_job);

// Eight producers of `lines` lines together: bytes a second until all of it is in the files.
struct Output {
  double bytes_per_second = 0;
  double slowest_seconds = 0;  // The slowest producer, from its start to its last write.
  std::int64_t bad_lines = 0;  // Missing, mixed, or of somebody else.
};
absl::StatusOr<Output> MeasureCat(std::int64_t lines);
// `followed`: each has a reader as `logs -f` is one, which gets every byte too. `paced`: at 10
// MB/s.
absl::StatusOr<Output> MeasureOutput(std::int64_t lines, bool followed, bool paced);

// The time that a loop needs that only starts programs: `all` for `count` of them until the last
// one runs, and `one` for a single program until it runs (the median of some).
struct Bare {
  absl::Duration all, one;
};
absl::StatusOr<Bare> MeasureBare(int count);

// Programs started and waited for in a second by a process with so much memory.
absl::StatusOr<double> MeasureSpawns(int count, int ballast_megabytes);

}  // namespace bench

#endif  // BENCH_LAUNCHER_FIGURES_H_
