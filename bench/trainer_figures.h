#ifndef BENCH_TRAINER_FIGURES_H_
#define BENCH_TRAINER_FIGURES_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bench {

// Measurements of the trainer, each in a new yard (registry, launcher, trainer and datamanager as
// processes) with real programs (reporter.cc). All counts are checked: a trial or report too few,
// in the database or in a file, is an error.

// Eight programs that report `reports` times each, in lock step.
struct ReportRate {
  double per_second = 0;
  absl::Duration p50, p99;  // From a report to its answer.
};
// `interval` is the time between two reports of a program; zero: as fast as they are answered.
// `durable`: each report is synced to the disk before it is answered.
absl::StatusOr<ReportRate> MeasureReports(int reports, absl::Duration interval, bool durable);
// Runs the same programs with a loop that only answers them: the limit of the machine.
absl::StatusOr<ReportRate> MeasureBareReports(int reports, absl::Duration interval);

// Runs trials one after the other. `start`: from the call to the program's first instructions;
// `one_report`: from the call to the end of a trial with one report. Medians.
struct TrialTimes {
  absl::Duration start, one_report;
};
absl::StatusOr<TrialTimes> MeasureTrials(int trials);

// Resident memory of all four services of an idle yard, and how much the trainer, and the launcher
// with the job, grow for each ended trial of one report, measured after as many trials have ended
// before.
struct TrainerMemory {
  double at_rest_kilobytes = 0;
  double finished_trial_kilobytes = 0;
  double ended_job_kilobytes = 0;
};
absl::StatusOr<TrainerMemory> MeasureTrainerMemory(int trials);

// Kills, with SIGKILL, a trainer that has this many ended trials while a program reports every
// millisecond, and starts another one at once: `wait` is how long the program waits for its answer.
// `known_trial_kilobytes` is the memory for each ended trial, compared with a trainer without
// trials.
struct RestartFigures {
  absl::Duration wait;
  double known_trial_kilobytes = 0;
};
absl::StatusOr<RestartFigures> MeasureRestart(int ended_trials);

// Returns the processor time of all services together, as a fraction of one core, for `trials`
// programs that do nothing: the cost to measure and store their usage, and all other work during
// `time`, minus the cost of the same services without a trial. Each run must have its points.
absl::StatusOr<double> MeasureSystemMetrics(int trials, absl::Duration time);

// Runs trials of one second on 16 slots; returns the time from the first call to the last end.
absl::StatusOr<absl::Duration> MeasureQueue(int trials);

// Sweeps with TPE over six parameters, whose programs report once.
struct SweepPace {
  // On one slot: from the last action of a program to the first of the next one; the median.
  absl::Duration idle;
  // On eight slots.
  double trials_per_second = 0;
  // How much more processor time the services and programs take than for as many such trials
  // outside a sweep, as a fraction of the total.
  double tuner_share = 0;
};
absl::StatusOr<SweepPace> MeasureSweepPace(int trials_on_one_slot, int trials);

}  // namespace bench

#endif  // BENCH_TRAINER_FIGURES_H_
