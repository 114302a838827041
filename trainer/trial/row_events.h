#ifndef TRAINER_TRIAL_ROW_EVENTS_H_
#define TRAINER_TRIAL_ROW_EVENTS_H_

#include <vector>

#include "bus/schema/trainer_generated.h"
#include "trainer/report/result_row.h"

namespace trainer {

// A row as a message.
msg::ResultRowT RowMessage(const ResultRow& row);

// The events of new results, in their order, with what is known of their trial. Rows that come
// together share an event, as long as their metrics have at most 64 KiB: a message for each row
// would cost its carriers and its receivers more than the reports cost the trainer.
std::vector<msg::TrialEventT> RowEvents(const msg::TrialT& trial,
                                        const std::vector<ResultRow>& rows);

}  // namespace trainer

#endif  // TRAINER_TRIAL_ROW_EVENTS_H_
