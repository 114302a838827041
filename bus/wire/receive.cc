#include "bus/wire/receive.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "flatbuffers/flatbuffers.h"

namespace bus {
namespace {

// The smallest buffer that can hold a root offset and an identifier.
constexpr std::size_t kMinBytes = 8;
constexpr std::size_t kMaxNameBytes = 128;

bool Short(const flatbuffers::String* text) {
  return text == nullptr || text->size() <= kMaxNameBytes;
}

}  // namespace

bool Received::body_known() const { return envelope_->body_type() <= msg::Body::MAX; }

absl::StatusOr<Received> Receive(std::span<const std::uint8_t> bytes, std::size_t limit) {
  if (bytes.size() < kMinBytes) {
    return absl::InvalidArgumentError(absl::StrCat("too short: ", bytes.size(), " bytes"));
  }
  if (bytes.size() > limit) {
    return absl::InvalidArgumentError(
        absl::StrCat("too long: ", bytes.size(), " bytes, at most ", limit, " are taken"));
  }
  Received received;
  const std::uint8_t* data = bytes.data();
  if (reinterpret_cast<std::uintptr_t>(data) % 8 != 0) {
    received.aligned_ = std::make_unique<std::uint64_t[]>((bytes.size() + 7) / 8);
    std::memcpy(received.aligned_.get(), data, bytes.size());
    data = reinterpret_cast<const std::uint8_t*>(received.aligned_.get());
  }
  flatbuffers::Verifier verifier(data, bytes.size(), kMaxDepth, kMaxTables);
  if (!msg::VerifyEnvelopeBuffer(verifier)) {
    return absl::InvalidArgumentError("not a message of this bus");
  }
  received.envelope_ = msg::GetEnvelope(data);
  const msg::Envelope& envelope = *received.envelope_;
  if (envelope.kind() > msg::Kind::MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown kind ", static_cast<int>(envelope.kind())));
  }
  if (!Short(envelope.method()) || !Short(envelope.request_id()) || !Short(envelope.trace()) ||
      !Short(envelope.payload_type())) {
    return absl::InvalidArgumentError(
        absl::StrCat("a method, id or type of over ", kMaxNameBytes, " bytes"));
  }
  return received;
}

std::optional<msg::Kind> PeekKind(std::span<const std::uint8_t> bytes) {
  const auto read = [&](std::size_t at, auto& value) {
    if (at + sizeof(value) > bytes.size()) return false;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    return true;
  };
  // Finds the field as FlatBuffers does: the root offset, the table's offset back to its vtable,
  // and the field's offset in the vtable.
  std::uint32_t root = 0;
  std::int32_t back = 0;
  std::uint16_t vtable_bytes = 0, field = 0;
  if (!read(0, root) || !read(root, back)) return std::nullopt;
  const std::int64_t vtable = std::int64_t{root} - back;
  if (vtable < 0 || !read(static_cast<std::size_t>(vtable), vtable_bytes)) return std::nullopt;
  constexpr std::size_t kField = msg::Envelope::VT_KIND;
  if (vtable_bytes < kField + sizeof(field)) return msg::Kind::Event;  // The default.
  if (!read(static_cast<std::size_t>(vtable) + kField, field)) return std::nullopt;
  if (field == 0) return msg::Kind::Event;
  std::uint8_t kind = 0;
  if (!read(std::size_t{root} + field, kind)) return std::nullopt;
  return static_cast<msg::Kind>(kind);
}

}  // namespace bus
