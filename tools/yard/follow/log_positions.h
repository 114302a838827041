#ifndef TOOLS_YARD_FOLLOW_LOG_POSITIONS_H_
#define TOOLS_YARD_FOLLOW_LOG_POSITIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bus/schema/launcher_generated.h"

namespace yard {

// How far the output of a job's tasks is known, so that a stream of it that broke can begin anew
// without a byte missing or told twice. Pure; one thread.
class LogPositions {
 public:
  // How many bytes at the front of the part are known already (all: its size). From now on the
  // whole part is known. Attempts come oldest first: one that is older than all that are
  // remembered (the last 100) counts as known.
  std::size_t Take(const msg::LogsReplyT& part);

  // The stream broke; the next one begins with the current attempts, or with the oldest again.
  void Broke();
  // Requests to make before the first part of a new stream is taken: for the rest of the attempt
  // that was known, and those between, which have ended meanwhile (at most 100). Empty for other
  // parts.
  std::vector<msg::LogsRequestT> Missed(const msg::LogsReplyT& part);

 private:
  struct Ends {
    std::uint64_t stdout_end = 0;
    std::uint64_t stderr_end = 0;
  };
  struct Place {
    std::map<std::uint32_t, Ends> attempts;
    bool is_current = true;  // Known without a hole up to what came last.
  };
  std::map<std::string, Place> places_;
};

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_LOG_POSITIONS_H_
