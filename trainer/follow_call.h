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

// Streams a trial's reports after `from_row`: first the stored rows, then new ones, each row once
// and in order, in parts of bounded size. The call finishes when the trial has ended or, without
// `follow`, when the stored rows are sent. The final reply carries the trial; a change of its state
// or reason is sent as a part without rows. Call it on the loop's thread; the call keeps itself
// alive until it is finished or cancelled.
void StartFollowCall(Trials* trials, runtime::EventLoop* loop, const std::string& trial,
                     std::uint64_t from_row, bool follow,
                     std::shared_ptr<bus::ReplyStream<msg::FollowTrialReplyT>> writer);

}  // namespace trainer

#endif  // TRAINER_FOLLOW_CALL_H_
