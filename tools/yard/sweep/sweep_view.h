#ifndef TOOLS_YARD_SWEEP_SWEEP_VIEW_H_
#define TOOLS_YARD_SWEEP_SWEEP_VIEW_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "nlohmann/json.hpp"

namespace yard {

// A person is shown this of a sweep. Pure; printable, but for SweepCsv().

// "12 of 60 trials: 3 running, 8 done, 1 failed"
std::string SweepCounts(const msg::SweepT& sweep);
// "loss 0.0811 of digits-0007", of two metrics "a front of 5 trials"; empty: no trial has a value
// that counts.
std::string SweepBest(const msg::SweepT& sweep);
// "s-abcde digits running, 12 of 60 trials: ..., best loss 0.0811 of digits-0007", on one line.
std::string SweepLine(const msg::SweepT& sweep);
// "lr=0.01 optimizer=adam"
std::string ConfigLine(const std::string& config);
// "digits-0007  done  loss 0.0811 at 27  lr=0.01 optimizer=adam  why"
std::string SweepTrialLine(const msg::SweepT& sweep, const msg::SweepTrialT& trial);

struct SweepReportOptions {
  std::size_t best = 10;  // So many trials; the others are in `export`.
  int width = 0;          // The terminal's; 0: any.
  absl::TimeZone zone = absl::UTCTimeZone();
};
// The report of a sweep: state, best trials, levels, importance, marginals, cost, failures by
// reason.
std::string SweepReport(const msg::SweepDetailsReplyT& details, const SweepReportOptions& options);
// How the best trial came to where it is: itself, and before it the trials that it has taken over
// from, each from where it began to count. Empty: no trial is the best.
struct SweepStep {
  double from = 0;
  const msg::SweepTrialT* trial = nullptr;
};
std::vector<SweepStep> ScheduleOf(const msg::SweepDetailsReplyT& details);
// The same as lines, as an object for programs, and as JSON for the key `schedule` of a sweep file.
std::string SweepSchedule(const msg::SweepDetailsReplyT& details);
nlohmann::json SweepScheduleJson(const msg::SweepDetailsReplyT& details);
std::string SweepSchedulePlan(const msg::SweepDetailsReplyT& details);

// The trials that have a value, in the order of their ends, and the best value so far.
struct SweepProgress {
  const msg::SweepTrialT* trial = nullptr;
  double best = 0;
};
std::vector<SweepProgress> ProgressOf(const msg::SweepDetailsReplyT& details);

// The trials of the front, the best of the first metric first; empty with one metric.
std::vector<const msg::SweepTrialT*> FrontOf(const msg::SweepDetailsReplyT& details);

// A row a trial (RFC 4180): number, trial, name, state, value, resource, attempt, started, ended,
// reason, "value/NAME" of a second metric, breaks if a trial breaks a constraint, and a column
// "config/NAME" for each parameter. For a terminal cells are printable, else they are exact.
std::string SweepCsv(const msg::SweepDetailsReplyT& details, bool for_terminal = false);

}  // namespace yard

#endif  // TOOLS_YARD_SWEEP_SWEEP_VIEW_H_
