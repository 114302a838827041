#ifndef TRAINER_TRIAL_TRIAL_MESSAGE_H_
#define TRAINER_TRIAL_TRIAL_MESSAGE_H_

#include <cstdint>
#include <optional>
#include <span>

#include "bus/json/run_outcome.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/checkpoint/checkpoint_row.h"
#include "trainer/report/metric_statistics.h"
#include "trainer/report/result_row.h"
#include "trainer/store/trial_record.h"

namespace trainer {

// Returns a trial's message from its record, its last report (row 0: none) and its newest
// checkpoint (number 0: none). Pure.
msg::TrialT WholeMessage(const TrialRecord& record, const ResultRow& last,
                         const CheckpointRow& newest);
// The same without parts that may be large: argv, metrics, error lines, labels.
msg::TrialT BriefMessage(const TrialRecord& record, const ResultRow& last,
                         const CheckpointRow& newest);
// Returns how the trial ended; nullopt while it has not.
std::optional<bus::RunOutcome> OutcomeOf(const TrialRecord& record);
// Returns all details of the trial; `shown` is its message.
msg::TrialDetailsReplyT DetailsMessage(const TrialRecord& record, msg::TrialT shown,
                                       const MetricStatistics& statistics,
                                       std::span<const CheckpointRow> checkpoints,
                                       std::int64_t events_waiting);

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_MESSAGE_H_
