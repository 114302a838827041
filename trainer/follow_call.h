#ifndef TRAINER_FOLLOW_CALL_H_
#define TRAINER_FOLLOW_CALL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "bus/call/reply_stream.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/event_loop.h"
#include "trainer/table/trials.h"

namespace trainer {

// Streams a trial's reports after `from_row`: what is stored, then what comes, each row once and in
// order, in bounded parts, until the trial has ended (or, without `follow`, the stored rows have).
// The final reply has the trial. A change of its state, or of its reason, is a part without rows.
// Starts on the loop's thread and keeps itself alive until it is finished or cancelled.
void StartFollowCall(Trials* trials, runtime::EventLoop* loop, const std::string& trial,
                     std::uint64_t from_row, bool follow,
                     std::shared_ptr<bus::ReplyStream<msg::FollowTrialReplyT>> writer);

}  // namespace trainer

#endif  // TRAINER_FOLLOW_CALL_H_
