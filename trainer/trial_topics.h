#ifndef TRAINER_TRIAL_TOPICS_H_
#define TRAINER_TRIAL_TOPICS_H_

#include <string>

#include "absl/status/statusor.h"
#include "bus/schema/envelope_generated.h"
#include "trainer/sweep/sweeps.h"
#include "trainer/table/trials.h"

namespace trainer {

// The topics `t/TRIAL/` and the record behind them, which is the trainer's store: acknowledged
// report n is entry n of lane 0, there is no other lane. A change of state is news, no entry; it
// is told again as the trial as it is now.

std::string TopicOfTrial(const std::string& id);
// An event of Trials::Options::on_event as it is published, with its span: the rows it carries, or
// (n, n] after n reports if it carries none.
msg::EnvelopeT EnvelopeOf(msg::TrialEventT event);
// The same of a sweep's topic, `t/SWEEP/`, which has no record: a change is news, and is told again
// as the sweep as it is now.
msg::EnvelopeT EnvelopeOf(msg::SweepEventT event);

// The answers of Common.Ends and Common.Since. On the loop's thread.
msg::EndsReplyT EndsOfTrials(const Trials& trials, const Sweeps& sweeps,
                             const msg::EndsRequestT& request);
// Has for each known topic the rows behind its place, as events without a trial, then one event
// with the trial (without metrics and argv of over 4 KiB). Topics with rows come first, the others
// after them, the last changed one first: a page without any row has no next one, so that those of
// several hundred such topics that changed last are told.
absl::StatusOr<msg::SinceReplyT> TrialsSince(Trials& trials, const Sweeps& sweeps,
                                             const msg::SinceRequestT& request);

}  // namespace trainer

#endif  // TRAINER_TRIAL_TOPICS_H_
