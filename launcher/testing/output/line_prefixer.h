#ifndef LAUNCHER_TESTING_OUTPUT_LINE_PREFIXER_H_
#define LAUNCHER_TESTING_OUTPUT_LINE_PREFIXER_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace launcher::testing {

// Puts a task's name before each line of one of its output streams. Returns whole lines only,
// whatever pieces the stream comes in, so that lines of several tasks never mix. A line ends with
// "\n", "\r\n" or "\r", and comes out with "\n", as the original's. Other bytes are passed as they
// are, NUL and broken UTF-8 too.
class LinePrefixer {
 public:
  // A line of more bytes is cut there, and its rest begins a line again.
  static constexpr std::size_t kMaxLine = 16 << 20;

  // "[worker-0]:", filled up to 14 columns, and a space, as the original does.
  explicit LinePrefixer(std::string_view task);

  // Appends the lines that `bytes` complete to `lines`.
  void Add(std::string_view bytes, std::string* lines);
  // The stream is over: a last line without a newline gets one.
  void Finish(std::string* lines);

  const std::string& prefix() const { return prefix_; }

 private:
  void AddNormal(std::string_view bytes, std::string* lines);
  void AddLines(std::string_view whole, std::string* lines);

  std::string prefix_;
  bool after_return_ = false;  // The last byte was "\r": a "\n" behind it belongs to it.
  std::string rest_;           // The beginning of a line.
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_OUTPUT_LINE_PREFIXER_H_
