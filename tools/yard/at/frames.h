#ifndef TOOLS_YARD_AT_FRAMES_H_
#define TOOLS_YARD_AT_FRAMES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yard {

// A frame of the stdin of a session without a terminal. ssh itself hands no signal on, so stdin has
// the data for the verb's own stdin, their end, and interrupts. The end of the stream means that
// the caller has gone.
struct RemoteFrame {
  enum class Kind : char { kData = 'd', kEnd = 'e', kInterrupt = 'i' };
  Kind kind = Kind::kEnd;
  std::string data = {};  // kData: 1 byte or more.
};

inline constexpr std::size_t kMaxFrameBytes = 32 << 10;

// `data` has kMaxFrameBytes at most.
std::string FrameBytes(RemoteFrame::Kind kind, std::string_view data = {});

// Takes frames out of a stream.
class FrameReader {
 public:
  // Frames that are complete with `bytes`. InvalidArgument: these are no frames; nothing is read
  // any more.
  absl::StatusOr<std::vector<RemoteFrame>> Add(std::string_view bytes);

 private:
  std::string rest_;  // The beginning of a frame.
};

}  // namespace yard

#endif  // TOOLS_YARD_AT_FRAMES_H_
