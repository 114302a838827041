#ifndef TOOLS_YARD_FOLLOW_INPUT_LINE_READER_H_
#define TOOLS_YARD_FOLLOW_INPUT_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace yard {

// Reads lines from a file descriptor, which it does not own. One thread.
class InputLineReader {
 public:
  // `max_bytes` is the limit of a line.
  InputLineReader(int fd, std::size_t max_bytes) : fd_(fd), max_bytes_(max_bytes) {}
  InputLineReader(const InputLineReader&) = delete;
  InputLineReader& operator=(const InputLineReader&) = delete;

  // Returns the next line without its "\n", which the last line may lack; nothing at the end of
  // input. Blocks. InvalidArgument, with the line number, if it is too long; Unknown for errors of
  // the kernel.
  absl::StatusOr<std::optional<std::string>> Next();
  // Returns all remaining bytes; InvalidArgument if they exceed `max_bytes`. Blocks.
  absl::StatusOr<std::string> Rest();
  // Returns true if Next() would not block.
  bool HasLine() const { return buffer_.find('\n', begin_) != std::string::npos; }
  // Number of the line that Next() returned last, from 1.
  std::uint64_t number() const { return number_; }

 private:
  // Returns false at the end of input.
  absl::StatusOr<bool> Read();

  const int fd_;
  const std::size_t max_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;  // Bytes before it were already returned.
  std::uint64_t number_ = 0;
};

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_INPUT_LINE_READER_H_
