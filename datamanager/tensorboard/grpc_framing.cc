#include "datamanager/tensorboard/grpc_framing.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace datamanager::tensorboard {
namespace {

constexpr std::size_t kHead = 5;

}  // namespace

void AppendFrame(std::string_view message, std::string* frames) {
  const auto length = static_cast<std::uint32_t>(message.size());
  const char head[kHead] = {0, static_cast<char>(length >> 24), static_cast<char>(length >> 16),
                            static_cast<char>(length >> 8), static_cast<char>(length)};
  frames->append(head, kHead);
  frames->append(message);
}

absl::StatusOr<std::string_view> OnlyMessage(std::string_view body) {
  if (body.size() < kHead) return absl::InvalidArgumentError("the request has no message");
  if (body[0] != 0) return absl::UnimplementedError("compressed messages are not read");
  std::uint32_t length = 0;
  for (std::size_t i = 1; i < kHead; ++i) {
    length = length << 8 | static_cast<std::uint8_t>(body[i]);
  }
  if (length != body.size() - kHead) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", length, " bytes stands in ", body.size() - kHead, " bytes"));
  }
  return body.substr(kHead);
}

std::string PercentEncoded(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '%') {
      encoded.push_back(c);
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(c);
    encoded.push_back('%');
    encoded.push_back(kDigits[byte >> 4]);
    encoded.push_back(kDigits[byte & 15]);
  }
  return encoded;
}

}  // namespace datamanager::tensorboard
