#include "bus/call/read_all.h"

#include <memory>

#include "bus/wire/receive.h"
#include "glog/logging.h"

namespace bus {

bool ReadAll(std::span<const std::uint8_t> bytes, std::size_t limit) {
  const auto kind = PeekKind(bytes);
  const auto received = Receive(bytes, limit);
  if (!received.ok()) return false;
  CHECK((*received)->kind() <= msg::Kind::MAX);
  CHECK(kind == (*received)->kind());
  if (!received->body_known()) return true;
  const std::unique_ptr<msg::EnvelopeT> message((*received)->UnPack());
  CHECK_LE(message->method.size(), 128u);
  const msg::SinceReplyT* const since = message->body.AsSinceReply();
  if (since == nullptr) return true;
  for (const auto& recorded : since->events) {
    if (recorded != nullptr) ReadAll(recorded->envelope, limit);
  }
  return true;
}

}  // namespace bus
