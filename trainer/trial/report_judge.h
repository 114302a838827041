#ifndef TRAINER_TRIAL_REPORT_JUDGE_H_
#define TRAINER_TRIAL_REPORT_JUDGE_H_

#include <string>
#include <vector>

#include "trainer/report/report_line.h"
#include "trainer/report/result_row.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"

namespace trainer {

// Whether a trial goes on after a report.
struct Verdict {
  enum class Kind { kContinue, kStop, kPause };
  Kind kind = Kind::kContinue;
  std::string reason = {};
};

// A judge has started trials (it is a sweep), and says of each of their reports whether the trial
// goes on.
// On the loop's thread.
class ReportJudge {
 public:
  virtual ~ReportJudge() = default;

  // The trial has options.sweep. The report counts once `batch` is stored, and so does what the
  // judge adds to it. `fields` are the report's metrics and the automatic ones; `saves`: the trial
  // has a checkpoint.
  virtual Verdict Judge(const TrialRecord& trial, const ResultRow& row,
                        const std::vector<Metric>& fields, bool saves, StoreBatch& batch) = 0;
  // The batches since the last call are stored, or none of them is.
  virtual void Committed() = 0;
  virtual void Abandon() = 0;
  // A trial that has options.sweep has changed its state. Called in the midst of that: the judge
  // looks at it, and acts, later.
  virtual void Changed(const TrialRecord& trial) = 0;
};

}  // namespace trainer

#endif  // TRAINER_TRIAL_REPORT_JUDGE_H_
