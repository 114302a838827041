#ifndef BENCH_LAUNCHER_FIGURES_H_
#define BENCH_LAUNCHER_FIGURES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bench {

// Measurements of the launcher, each with a new launcher process that is called over the bus. The
// time at which a task runs is the time that its program records (stamp.cc). All counts are
// checked: a task, line or byte too few or too many is an error.

// `tasks` tasks that keep running, as one job or as one job each with all calls in flight together.
struct BringUp {
  absl::Duration started;  // From the call to the last program running.
  absl::Duration stopped;  // From the first stop to the last program gone.
  double resident_kilobytes = 0;
  double growth_kilobytes = 0;  // Growth for each task.
  double shim_kilobytes = 0;    // Proportional set size, median.
};
absl::StatusOr<BringUp> MeasureBringUp(int tasks, bool one_job);

// The 99th percentiles of calls: of `jobs` Launch calls one after the other, of all of them in
// flight together, and of queries for a job while that many run.
struct Calls {
  absl::Duration launch, launch_together, question;
};
absl::StatusOr<Calls> MeasureCalls(int jobs);

// From SIGKILL of a task to its new process running; each task is killed once.
struct Restarts {
  absl::Duration p50, p99;
};
absl::StatusOr<Restarts> MeasureRestarts(int kills);
// From SIGKILL of one task of a gang of four to the last of the four new ones: the median.
absl::StatusOr<absl::Duration> MeasureGangs(int kills);

// The cost of `tasks` tasks that end at once and are always restarted: processor time of the
// launcher, its shims and the tasks together, as a fraction of one core, during `time`, which
// begins `burst` after each task has started twice.
absl::StatusOr<double> MeasureCrashLoops(int tasks, absl::Duration burst, absl::Duration time);

// Tasks taken over by a new launcher after the old one was killed.
struct TakeUp {
  absl::Duration since_exec, since_open;
};
absl::StatusOr<TakeUp> MeasureTakeUp(int tasks, bool one_job);

// Eight producers of `lines` lines in total: bytes per second until everything is in the files.
struct Output {
  double bytes_per_second = 0;
  double slowest_seconds = 0;  // The slowest producer, from its start to its last write.
  std::int64_t bad_lines = 0;  // Missing, mixed, or from another producer.
};
absl::StatusOr<Output> MeasureCat(std::int64_t lines);
// `followed`: each producer has a reader like `logs -f`, which receives every byte too. `paced`:
// each writes at 10 MB/s.
absl::StatusOr<Output> MeasureOutput(std::int64_t lines, bool followed, bool paced);

// The time of a loop that only starts programs: `all` for `count` of them until the last one runs,
// `one` for a single program until it runs (a median).
struct Bare {
  absl::Duration all, one;
};
absl::StatusOr<Bare> MeasureBare(int count);

// Returns how many programs a process of this memory size starts and waits for in a second.
absl::StatusOr<double> MeasureSpawns(int count, int ballast_megabytes);

}  // namespace bench

#endif  // BENCH_LAUNCHER_FIGURES_H_
