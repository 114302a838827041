#ifndef TOOLS_YARD_AT_FRAMES_H_
#define TOOLS_YARD_AT_FRAMES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yard {

// A frame in the stdin of a session without a terminal. ssh forwards no signals, so stdin carries
// the data for the verb's stdin, the end of that data, and interrupts. The end of the stream means
// that the caller has exited.
struct RemoteFrame {
  enum class Kind : char { kData = 'd', kEnd = 'e', kInterrupt = 'i' };
  Kind kind = Kind::kEnd;
  std::string data = {};  // For kData: at least 1 byte.
};

inline constexpr std::size_t kMaxFrameBytes = 32 << 10;

// Encodes a frame. `data` has at most kMaxFrameBytes.
std::string FrameBytes(RemoteFrame::Kind kind, std::string_view data = {});

// Decodes frames from a stream.
class RemoteFrameReader {
 public:
  // Returns the frames that `bytes` complete. InvalidArgument if the stream is malformed; nothing
  // is decoded after that.
  absl::StatusOr<std::vector<RemoteFrame>> Add(std::string_view bytes);

 private:
  std::string rest_;  // Incomplete frame at the end.
};

}  // namespace yard

#endif  // TOOLS_YARD_AT_FRAMES_H_
