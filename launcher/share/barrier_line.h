#ifndef LAUNCHER_SHARE_BARRIER_LINE_H_
#define LAUNCHER_SHARE_BARRIER_LINE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {

// A barrier in the JSON lines of the report channel (docs/report-channel.md).
struct BarrierLine {
  msg::BarrierRequestT request;  // Its task is not set.
  std::string seq;               // JSON text to echo in the answer; empty if the line has no seq.
};
// Parses the line of a barrier. InvalidArgument names the error. Ignores unknown members.
absl::StatusOr<BarrierLine> ParseBarrierLine(std::string_view line);

// Returns the line that the program gets: {"t":"ok","seq":7,"index":2} or an error, without a
// newline and at most kMaxBarrierAnswer bytes long.
std::string BarrierAnswer(std::string_view seq, const absl::StatusOr<int>& place);

}  // namespace launcher

#endif  // LAUNCHER_SHARE_BARRIER_LINE_H_
