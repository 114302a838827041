#ifndef TOOLS_YARD_SWEEP_SWEEP_VIEW_H_
#define TOOLS_YARD_SWEEP_SWEEP_VIEW_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "nlohmann/json.hpp"

namespace yard {

// Formats sweeps for people. Pure; printable, except SweepCsv().

// Returns "12 of 60 trials: 3 running, 8 done, 1 failed".
std::string SweepCounts(const msg::SweepT& sweep);
// Returns "loss 0.0811 of digits-0007", or for two metrics "a front of 5 trials"; empty if no trial
// has a valid value.
std::string SweepBest(const msg::SweepT& sweep);
// Returns one line: "s-abcde digits running, 12 of 60 trials: ..., best loss 0.0811 of
// digits-0007".
std::string SweepLine(const msg::SweepT& sweep);
// Returns "lr=0.01 optimizer=adam".
std::string ConfigLine(const std::string& config);
// Returns "digits-0007  done  loss 0.0811 at 27  lr=0.01 optimizer=adam  why".
std::string SweepTrialLine(const msg::SweepT& sweep, const msg::SweepTrialT& trial);

struct SweepReportOptions {
  std::size_t best = 10;  // Number of best trials; `export` has all.
  int width = 0;          // The terminal's; 0 for unlimited.
  absl::TimeZone zone = absl::UTCTimeZone();
};
// Returns the report of a sweep: state, best trials, levels, importance, marginals, cost, failures
// by reason.
std::string SweepReport(const msg::SweepDetailsReplyT& details, const SweepReportOptions& options);
// The history of the best trial: the trials that it has taken over from, then itself, each from the
// resource at which it began to count. Empty if there is no best trial.
struct SweepStep {
  double from = 0;
  const msg::SweepTrialT* trial = nullptr;
};
std::vector<SweepStep> ScheduleOf(const msg::SweepDetailsReplyT& details);
// The same as lines, as a JSON object, and as JSON for the key `schedule` of a sweep file.
std::string SweepSchedule(const msg::SweepDetailsReplyT& details);
nlohmann::json SweepScheduleJson(const msg::SweepDetailsReplyT& details);
std::string SweepSchedulePlan(const msg::SweepDetailsReplyT& details);

// The trials that have a value, in the order of their ends, each with the best value so far.
struct SweepProgress {
  const msg::SweepTrialT* trial = nullptr;
  double best = 0;
};
std::vector<SweepProgress> ProgressOf(const msg::SweepDetailsReplyT& details);

// Returns the trials of the Pareto front, best first by the first metric; empty with one metric.
std::vector<const msg::SweepTrialT*> FrontOf(const msg::SweepDetailsReplyT& details);

// Returns a row for each trial (RFC 4180): number, trial, name, state, value, resource, attempt,
// started, ended, reason, "value/NAME" of a second metric, breaks if a trial breaks a constraint,
// and a column "config/NAME" for each parameter. With `for_terminal`, cells are made printable,
// else they are exact.
std::string SweepCsv(const msg::SweepDetailsReplyT& details, bool for_terminal = false);

}  // namespace yard

#endif  // TOOLS_YARD_SWEEP_SWEEP_VIEW_H_
