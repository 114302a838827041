#ifndef TRAINER_TRIAL_REPORT_JUDGE_H_
#define TRAINER_TRIAL_REPORT_JUDGE_H_

#include <string>
#include <vector>

#include "trainer/report/report_line.h"
#include "trainer/report/result_row.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"

namespace trainer {

// Whether a trial continues after a report.
struct Verdict {
  enum class Kind { kContinue, kStop, kPause };
  Kind kind = Kind::kContinue;
  std::string reason = {};
};

// Decides after each report of a trial whether the trial continues. Sweeps implement it, for the
// trials that they have started, so that this layer need not know sweeps. Called on the loop's
// thread.
class ReportJudge {
 public:
  virtual ~ReportJudge() = default;

  // Judges a report of a trial with options.sweep. The report counts once `batch` is stored,
  // together with what the judge adds to the batch. `fields` are the report's metrics and the
  // automatic fields; `saves` is true if the trial has a checkpoint.
  virtual Verdict Judge(const TrialRecord& trial, const ResultRow& row,
                        const std::vector<Metric>& fields, bool saves, StoreBatch& batch) = 0;
  // Committed(): all batches since the last call are stored. Abandon(): none of them is.
  virtual void Committed() = 0;
  virtual void Abandon() = 0;
  // A trial with options.sweep has changed its state. The caller is in the middle of that change,
  // so the judge must only note it and act later.
  virtual void Changed(const TrialRecord& trial) = 0;
};

}  // namespace trainer

#endif  // TRAINER_TRIAL_REPORT_JUDGE_H_
