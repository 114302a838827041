#ifndef BENCH_TRAINER_FIGURES_H_
#define BENCH_TRAINER_FIGURES_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bench {

// Measurements of the trainer, each in a yard of its own (registry, launcher, trainer and
// datamanager as processes) with real programs (reporter.cc). All counts are checked: a trial or
// report too few, in the database or in a file, is an error.

// Eight programs that report `reports` times each, in lock step.
struct ReportRate {
  double per_second = 0;
  absl::Duration p50, p99;  // From a report to its answer.
};
// `interval` between two reports of a program; zero: as fast as they are answered. `durable`: each
// is synced to the disk before it is answered.
absl::StatusOr<ReportRate> MeasureReports(int reports, absl::Duration interval, bool durable);
// The same programs, and a loop that does nothing but answer them: what the machine can do.
absl::StatusOr<ReportRate> MeasureBareReports(int reports, absl::Duration interval);

// Trials one after the other: from the call to the program's first instructions; and, of programs
// with one report, from the call to the trial's end. Medians.
struct TrialTimes {
  absl::Duration start, one_report;
};
absl::StatusOr<TrialTimes> MeasureTrials(int trials);

// Resident memory of all four services of a yard that does nothing, and how much those of the
// trainer and of the launcher, which keeps its job, grow for each trial of one report that has
// ended, once as many have ended before.
struct TrainerMemory {
  double at_rest_kilobytes = 0;
  double finished_trial_kilobytes = 0;
  double ended_job_kilobytes = 0;
};
absl::StatusOr<TrainerMemory> MeasureTrainerMemory(int trials);

// A trainer that knows so many ended trials takes so much more memory for each of them than one
// that knows none. It is killed with SIGKILL while a program reports each millisecond, and another
// one is started at once: how long the program waits for its answer.
struct RestartFigures {
  absl::Duration wait;
  double known_trial_kilobytes = 0;
};
absl::StatusOr<RestartFigures> MeasureRestart(int ended_trials);

// The processor time of all services together, in shares of a core, for `trials` programs that do
// nothing: what it costs to measure and to store what they use, and all else that they do, over
// `time`, less what the same services use without a trial. Each run must have its points.
absl::StatusOr<double> MeasureSystemMetrics(int trials, absl::Duration time);

// So many trials of one second on 16 slots: from the first call to the last end.
absl::StatusOr<absl::Duration> MeasureQueue(int trials);

// Sweeps by TPE of six parameters, whose programs report once.
struct SweepPace {
  // On one slot: from the last thing that a program does to the first of the next one; the median.
  absl::Duration idle;
  // On eight slots.
  double trials_per_second = 0;
  // How much more processor time the services and the programs take than with as many such trials
  // that are no sweep's: a share of all that they take.
  double tuner_share = 0;
};
absl::StatusOr<SweepPace> MeasureSweepPace(int trials_on_one_slot, int trials);

}  // namespace bench

#endif  // BENCH_TRAINER_FIGURES_H_
