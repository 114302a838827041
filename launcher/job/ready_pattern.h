#ifndef LAUNCHER_JOB_READY_PATTERN_H_
#define LAUNCHER_JOB_READY_PATTERN_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace re2 {
class RE2;
}

namespace launcher {

// A regular expression in RE2's syntax; matching takes time linear in the length of the line for
// any pattern. A line matches if any part of it does; lines are bytes and need not be UTF-8.
// Thread-safe.
class ReadyPattern {
 public:
  static constexpr std::size_t kMaxSize = 4096;  // Bytes.

  // Compiles `pattern`. InvalidArgument says why it is invalid.
  static absl::StatusOr<std::unique_ptr<ReadyPattern>> Compile(const std::string& pattern);
  ~ReadyPattern();
  ReadyPattern(const ReadyPattern&) = delete;
  ReadyPattern& operator=(const ReadyPattern&) = delete;

  bool MatchesAny(const std::vector<std::string>& lines) const;

 private:
  explicit ReadyPattern(std::unique_ptr<const re2::RE2> expression);

  const std::unique_ptr<const re2::RE2> expression_;
};

}  // namespace launcher

#endif  // LAUNCHER_JOB_READY_PATTERN_H_
