#include "launcher/testing/call/child_message.h"

#include <cstring>

namespace launcher::testing {

std::string Frame(const Message& message) {
  std::string frame(sizeof(std::uint32_t), '\0');
  Codec<Message>::Write(message, &frame);
  const auto size = static_cast<std::uint32_t>(frame.size() - sizeof(std::uint32_t));
  std::memcpy(frame.data(), &size, sizeof size);
  return frame;
}

std::optional<Message> MessageReader::Next(absl::Status* error) {
  std::uint32_t size = 0;
  const std::string_view rest = std::string_view(bytes_).substr(taken_);
  if (rest.size() < sizeof size) return std::nullopt;
  std::memcpy(&size, rest.data(), sizeof size);
  if (size > kMaxMessage) {
    *error = absl::DataLossError("a message of " + std::to_string(size) + " bytes");
    return std::nullopt;
  }
  if (rest.size() - sizeof size < size) {
    bytes_.erase(0, taken_);
    taken_ = 0;
    return std::nullopt;
  }
  std::optional<Message> message = Decode<Message>(rest.substr(sizeof size, size));
  if (!message) *error = absl::DataLossError("a message that cannot be read");
  taken_ += sizeof size + size;
  return message;
}

}  // namespace launcher::testing
