#ifndef TOOLS_YARD_FOLLOW_LOG_POSITIONS_H_
#define TOOLS_YARD_FOLLOW_LOG_POSITIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bus/schema/launcher_generated.h"

namespace yard {

// Tracks how much of a job's output has been received, so that a broken stream can be resumed
// without losing or repeating a byte. Pure; one thread.
class LogPositions {
 public:
  // Records the part as received. Returns how many bytes at its front were already known (its size
  // if all). Attempts arrive oldest first; only the last 100 are remembered, and an older one
  // counts as known.
  std::size_t Take(const msg::LogsReplyT& part);

  // Call when the stream broke; the next one starts with the current attempts or with the oldest.
  void Broke();
  // Returns the requests to make before the first part of a new stream is taken: for the rest of
  // the last known attempt, and for attempts in between, which have ended meanwhile (at most 100).
  // Empty for later parts.
  std::vector<msg::LogsRequestT> Missed(const msg::LogsReplyT& part);

 private:
  struct Ends {
    std::uint64_t stdout_end = 0;
    std::uint64_t stderr_end = 0;
  };
  struct Place {
    std::map<std::uint32_t, Ends> attempts;
    bool is_current = true;  // Received without a gap up to the newest part.
  };
  std::map<std::string, Place> places_;
};

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_LOG_POSITIONS_H_
