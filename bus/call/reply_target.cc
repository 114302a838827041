#include "bus/call/reply_target.h"

#include "absl/strings/str_cat.h"
#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "bus/wire/receive.h"
#include "runtime/text/string_view.h"

namespace bus {
namespace {

// Messages this small cannot exceed kMaxTables, so CheckPart() does not verify them.
constexpr std::size_t kVerifyOver = 64 << 10;

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

// Handlers split streams themselves, and a REQ socket accepts one message only; other answers may
// be split here.
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
  // Not ResourceExhausted, which would ask the caller to retry.
  return absl::InvalidArgumentError(absl::StrCat("a part of the answer of ", runtime::Absl(method),
                                                 " is over the limits of a message: it has ",
                                                 frame.size(), " bytes (at most ", kMaxMessageBytes,
                                                 ") or over ", kMaxTables, " entries"));
}

}  // namespace bus
