#include "bus/wire/envelope.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "flatbuffers/flatbuffers.h"
#include "runtime/text/string_view.h"

namespace bus {
namespace {

constexpr std::size_t kMaxStatusBytes = 16 << 10;
constexpr std::size_t kMaxKeptBytes = 1 << 20;  // Large enough for a part of a stream.

}  // namespace

absl::Status CheckProtocol(const msg::Envelope& envelope, std::string_view what,
                           std::string_view self) {
  if (envelope.protocol() <= kProtocol) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      runtime::Absl(what), " needs protocol version ", envelope.protocol(), ", but ",
      runtime::Absl(self), " speaks version ", kProtocol, ": upgrade ", runtime::Absl(self)));
}

std::unique_ptr<msg::StatusT> ToWire(const absl::Status& status) {
  if (status.ok()) return nullptr;
  auto wire = std::make_unique<msg::StatusT>();
  wire->code = static_cast<std::uint8_t>(status.code());
  wire->message = std::string(status.message().substr(0, kMaxStatusBytes));
  wire->retryable = status.code() == absl::StatusCode::kUnavailable;
  return wire;
}

absl::Status FromWire(const msg::StatusT* status) {
  if (status == nullptr || status->code == 0) return absl::OkStatus();
  const bool known = status->code <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  return absl::Status(
      known ? static_cast<absl::StatusCode>(status->code) : absl::StatusCode::kUnknown,
      status->message);
}

Frame Encode(const msg::EnvelopeT& envelope) {
  // Reused, so that it need not grow for each message; reset after a large one.
  thread_local flatbuffers::FlatBufferBuilder builder(1024);
  builder.Clear();
  msg::FinishEnvelopeBuffer(builder, msg::CreateEnvelope(builder, &envelope));
  Frame frame(std::span<const std::uint8_t>(builder.GetBufferPointer(), builder.GetSize()));
  if (builder.GetSize() > kMaxKeptBytes) builder.Reset();
  return frame;
}

void SetHead(Frame& frame, const msg::Head& head) {
  const msg::Head* const place = msg::GetEnvelope(frame.bytes().data())->head();
  if (place != nullptr) *const_cast<msg::Head*>(place) = head;
}

}  // namespace bus
