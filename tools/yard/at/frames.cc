#include "tools/yard/at/frames.h"

#include <utility>

#include "absl/status/status.h"

namespace yard {
namespace {

// A frame is its kind, its length as two bytes (big endian), and its data.
constexpr std::size_t kHead = 3;

bool IsKind(char kind) {
  return kind == static_cast<char>(RemoteFrame::Kind::kData) ||
         kind == static_cast<char>(RemoteFrame::Kind::kEnd) ||
         kind == static_cast<char>(RemoteFrame::Kind::kInterrupt);
}

}  // namespace

std::string FrameBytes(RemoteFrame::Kind kind, std::string_view data) {
  std::string bytes = {static_cast<char>(kind), static_cast<char>(data.size() >> 8),
                       static_cast<char>(data.size() & 255)};
  return bytes.append(data);
}

absl::StatusOr<std::vector<RemoteFrame>> RemoteFrameReader::Add(std::string_view bytes) {
  rest_.append(bytes);
  std::vector<RemoteFrame> frames;
  std::size_t at = 0;
  while (rest_.size() - at >= kHead) {
    const std::size_t length = static_cast<std::size_t>(static_cast<unsigned char>(rest_[at + 1]))
                                   << 8 |
                               static_cast<unsigned char>(rest_[at + 2]);
    const auto kind = static_cast<RemoteFrame::Kind>(rest_[at]);
    const bool has_data = kind == RemoteFrame::Kind::kData;
    if (!IsKind(rest_[at]) || length > kMaxFrameBytes || has_data != (length > 0)) {
      return absl::InvalidArgumentError("stdin has no frames of a yard");
    }
    if (rest_.size() - at < kHead + length) break;
    frames.push_back({.kind = kind, .data = rest_.substr(at + kHead, length)});
    at += kHead + length;
  }
  rest_.erase(0, at);
  return frames;
}

}  // namespace yard
