#ifndef TOOLS_YARD_FOLLOW_INPUT_LINE_READER_H_
#define TOOLS_YARD_FOLLOW_INPUT_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace yard {

// Lines of a file descriptor, which is not owned. One thread.
class InputLineReader {
 public:
  // A line has at most `max_bytes`.
  InputLineReader(int fd, std::size_t max_bytes) : fd_(fd), max_bytes_(max_bytes) {}
  InputLineReader(const InputLineReader&) = delete;
  InputLineReader& operator=(const InputLineReader&) = delete;

  // The next line without its "\n"; the last one needs none. Nothing: there are no more. Waits for
  // it. InvalidArgument: too long, with its number; Unknown: what the kernel says.
  absl::StatusOr<std::optional<std::string>> Next();
  // All that is left, whatever is in it; InvalidArgument if that is over `max_bytes`.
  absl::StatusOr<std::string> Rest();
  // Next() would not wait.
  bool HasLine() const { return buffer_.find('\n', begin_) != std::string::npos; }
  // Number of the line that Next() gave last, from 1.
  std::uint64_t number() const { return number_; }

 private:
  // False: the end.
  absl::StatusOr<bool> Read();

  const int fd_;
  const std::size_t max_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;  // Bytes before it were given out.
  std::uint64_t number_ = 0;
};

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_INPUT_LINE_READER_H_
