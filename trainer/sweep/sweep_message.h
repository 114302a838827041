#ifndef TRAINER_SWEEP_SWEEP_MESSAGE_H_
#define TRAINER_SWEEP_SWEEP_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bus/schema/trainer_generated.h"
#include "trainer/store/sweep_rows.h"
#include "trainer/sweep/sweep.h"

namespace trainer {

// Most trials of a sweep in one bus message, which has a limited number of tables.
inline constexpr std::size_t kSweepTrialsOfAMessage = 1000;

// Return the messages of a sweep and of its trials.
msg::SweepT SweepMessage(const SweepRecord& record, const Sweep& sweep);
msg::SweepTrialT SweepTrialMessage(const SweepRecord& record, const Sweep& sweep,
                                   std::uint64_t trial);
// Returns the trials that an event after `seq` has changed, in the order of their numbers.
std::vector<std::unique_ptr<msg::SweepTrialT>> TrialsChangedAfter(const SweepRecord& record,
                                                                  const Sweep& sweep,
                                                                  std::int64_t seq);
msg::SweepDetailsReplyT SweepDetailsMessage(const SweepRecord& record, const Sweep& sweep);

// Returns the name of trial `number` of the sweep: NAME-0007.
std::string NameOfSweepTrial(const std::string& sweep, std::uint64_t number);

}  // namespace trainer

#endif  // TRAINER_SWEEP_SWEEP_MESSAGE_H_
