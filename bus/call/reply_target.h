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

// The destination of a reply: one for the call itself, and one for each retry that arrived
// meanwhile.
struct ReplyTarget {
  std::shared_ptr<Outbox> outbox;
  std::uint64_t corr = 0;
  bool delimiter = false;  // The caller is a REQ socket.
};

// Makes the reply that carries an error.
msg::EnvelopeT ErrorReply(const absl::Status& status);

Frame EncodeAs(msg::EnvelopeT& message, msg::Kind kind, std::uint64_t corr);

// Encodes a reply; returns an error if it exceeds the limits of an answer.
absl::StatusOr<ReplyFrames> ReplyFramesFor(const ReplyTarget& target, const MethodInfo& method,
                                           msg::EnvelopeT& reply);
ReplyFrames ErrorFrames(const ReplyTarget& target, const absl::Status& error);

// Returns InvalidArgument if a caller would refuse this part of an answer of `method`.
absl::Status CheckPart(const Frame& frame, std::string_view method);

}  // namespace bus

#endif  // BUS_CALL_REPLY_TARGET_H_
