#ifndef TRAINER_TRIAL_MESSAGE_H_
#define TRAINER_TRIAL_MESSAGE_H_

#include "bus/schema/trainer_generated.h"
#include "trainer/checkpoint_row.h"
#include "trainer/result_row.h"
#include "trainer/trial_record.h"

namespace trainer {

// A trial as it is shown: its record, its last report (row 0: none) and its newest checkpoint
// (number 0: none). Pure.
msg::TrialT WholeMessage(const TrialRecord& record, const ResultRow& last,
                         const CheckpointRow& newest);
// Without what may be large: argv, metrics, lines of errors, labels.
msg::TrialT BriefMessage(const TrialRecord& record, const ResultRow& last,
                         const CheckpointRow& newest);

}  // namespace trainer

#endif  // TRAINER_TRIAL_MESSAGE_H_
