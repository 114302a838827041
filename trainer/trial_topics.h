#ifndef TRAINER_TRIAL_TOPICS_H_
#define TRAINER_TRIAL_TOPICS_H_

#include <string>

#include "absl/status/statusor.h"
#include "bus/schema/envelope_generated.h"
#include "trainer/sweep/sweeps.h"
#include "trainer/table/trials.h"

namespace trainer {

// Topics `t/TRIAL/`. The record behind such a topic is the trainer's store: acknowledged report n
// is entry n of lane 0, the only lane. A change of state is news, not an entry; on repetition it
// carries the current trial.

std::string TopicOfTrial(const std::string& id);
// Converts an event of Trials::Options::on_event to its published envelope. The span covers the
// rows of the event, or is (n, n] after n reports if the event carries no row.
msg::EnvelopeT EnvelopeOf(msg::TrialEventT event);
// Converts an event of a sweep's topic, `t/SWEEP/`, which has no record: a change is news, and on
// repetition carries the current sweep.
msg::EnvelopeT EnvelopeOf(msg::SweepEventT event);

// Answer Common.Ends and Common.Since. Call them on the loop's thread.
msg::EndsReplyT EndsOfTrials(const Trials& trials, const Sweeps& sweeps,
                             const msg::EndsRequestT& request);
// For each known topic, returns the rows after its place as events without a trial, then one event
// with the trial (without metrics or argv of over 4 KiB). Topics with rows come first; the others
// follow, most recently changed first. A page without any row has no successor, so of several
// hundred topics without rows only the most recently changed ones are sent.
absl::StatusOr<msg::SinceReplyT> TrialsSince(Trials& trials, const Sweeps& sweeps,
                                             const msg::SinceRequestT& request);

}  // namespace trainer

#endif  // TRAINER_TRIAL_TOPICS_H_
