#ifndef TRAINER_TRIAL_ROW_EVENTS_H_
#define TRAINER_TRIAL_ROW_EVENTS_H_

#include <vector>

#include "bus/schema/trainer_generated.h"
#include "trainer/report/result_row.h"

namespace trainer {

// Converts a row to a message.
msg::ResultRowT RowMessage(const ResultRow& row);

// Returns the events of new results in order, each with the trial's state. Rows that arrive
// together share an event, as long as their metrics have at most 64 KiB: one message for each row
// would cost senders and receivers more than the reports cost the trainer.
std::vector<msg::TrialEventT> RowEvents(const msg::TrialT& trial,
                                        const std::vector<ResultRow>& rows);

}  // namespace trainer

#endif  // TRAINER_TRIAL_ROW_EVENTS_H_
