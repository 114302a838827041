#ifndef LAUNCHER_TESTING_OUTPUT_LINE_PREFIXER_H_
#define LAUNCHER_TESTING_OUTPUT_LINE_PREFIXER_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace launcher::testing {

// Prefixes each line of a task's output stream with the task's name. Returns only whole lines,
// however the stream is split into pieces, so that lines of several tasks never mix. A line ends
// with "\n", "\r\n" or "\r", and is returned with "\n", as in the original. All other bytes are
// unchanged, including NUL and invalid UTF-8.
class LinePrefixer {
 public:
  // A longer line is split after this many bytes, and its rest becomes a line of its own.
  static constexpr std::size_t kMaxLine = 16 << 20;

  // The prefix is "[worker-0]:", padded to 14 columns, and a space, as in the original.
  explicit LinePrefixer(std::string_view task);

  // Appends the lines that `bytes` complete to `lines`.
  void Add(std::string_view bytes, std::string* lines);
  // The stream has ended: adds a newline to a last line without one.
  void Finish(std::string* lines);

  const std::string& prefix() const { return prefix_; }

 private:
  void AddNormal(std::string_view bytes, std::string* lines);
  void AddLines(std::string_view whole, std::string* lines);

  std::string prefix_;
  // The last byte was "\r"; a "\n" after it belongs to the same line end.
  bool after_return_ = false;
  std::string rest_;  // An incomplete line.
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_OUTPUT_LINE_PREFIXER_H_
