#ifndef LAUNCHER_JOB_READY_PATTERN_H_
#define LAUNCHER_JOB_READY_PATTERN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace launcher {

// A regular expression of RE2's syntax, which takes time in proportion to the line whatever it is.
// A line matches if a part of it does; lines are bytes, whether or not they are UTF-8. Any thread.
class ReadyPattern {
 public:
  static constexpr std::size_t kMaxSize = 4096;  // Bytes.

  // InvalidArgument says what is wrong with it.
  static absl::StatusOr<std::unique_ptr<ReadyPattern>> Compile(const std::string& pattern);
  virtual ~ReadyPattern() = default;

  virtual bool MatchesAny(const std::vector<std::string>& lines) const = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_JOB_READY_PATTERN_H_
