#include "bus/call/reply_target.h"

#include "absl/strings/str_cat.h"
#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "bus/wire/receive.h"
#include "runtime/text/string_view.h"

namespace bus {
namespace {

constexpr std::size_t kVerifyOver = 64 << 10;  // Less cannot have too many tables.

}  // namespace

msg::EnvelopeT ErrorReply(const absl::Status& status) {
  msg::EnvelopeT reply;
  reply.status = ToWire(status);
  return reply;
}

Frame EncodeAs(msg::EnvelopeT& message, msg::Kind kind, std::uint64_t corr) {
  message.kind = kind;
  message.corr = corr;
  return Encode(message);
}

// A stream is cut by its handler, and a REQ socket takes one message for an answer.
absl::StatusOr<ReplyFrames> ReplyFramesFor(const ReplyTarget& target, const MethodInfo& method,
                                           msg::EnvelopeT& reply) {
  return EncodeReply(reply, target.corr, !method.streaming && !target.delimiter, method.name);
}

ReplyFrames ErrorFrames(const ReplyTarget& target, const absl::Status& error) {
  msg::EnvelopeT reply;
  reply.status = ToWire(error);
  ReplyFrames frames;
  frames.reply = EncodeAs(reply, msg::Kind::Reply, target.corr);
  return frames;
}

absl::Status CheckPart(const Frame& frame, std::string_view method) {
  if (frame.size() <= kVerifyOver) return absl::OkStatus();
  if (Receive(frame.bytes(), kMaxMessageBytes).ok()) return absl::OkStatus();
  // Not ResourceExhausted, which asks to try again.
  return absl::InvalidArgumentError(absl::StrCat("a part of the answer of ", runtime::Absl(method),
                                                 " is over the limits of a message: it has ",
                                                 frame.size(), " bytes (at most ", kMaxMessageBytes,
                                                 ") or over ", kMaxTables, " entries"));
}

}  // namespace bus
