#ifndef BUS_CALL_REPLY_TARGET_H_
#define BUS_CALL_REPLY_TARGET_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/envelope_generated.h"
#include "bus/schema/method.h"
#include "bus/thread/outbox.h"
#include "bus/thread/reply_parts.h"
#include "bus/wire/frame.h"

namespace bus {

// Where a reply goes: to the call itself, and to each retry of it that came meanwhile.
struct ReplyTarget {
  std::shared_ptr<Outbox> outbox;
  std::uint64_t corr = 0;
  bool delimiter = false;  // The caller is a REQ socket.
};

// The reply that tells an error.
msg::EnvelopeT ErrorReply(const absl::Status& status);

Frame EncodeAs(msg::EnvelopeT& message, msg::Kind kind, std::uint64_t corr);

// The frames of a reply; an error if it is over the limits of an answer.
absl::StatusOr<ReplyFrames> ReplyFramesFor(const ReplyTarget& target, const MethodInfo& method,
                                           msg::EnvelopeT& reply);
ReplyFrames ErrorFrames(const ReplyTarget& target, const absl::Status& error);

// InvalidArgument if a caller would refuse this part of an answer of `method`.
absl::Status CheckPart(const Frame& frame, std::string_view method);

}  // namespace bus

#endif  // BUS_CALL_REPLY_TARGET_H_
