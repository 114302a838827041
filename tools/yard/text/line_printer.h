#ifndef TOOLS_YARD_TEXT_LINE_PRINTER_H_
#define TOOLS_YARD_TEXT_LINE_PRINTER_H_

#include <ostream>
#include <string_view>

namespace yard {

// Prints lines of output with the names of their tasks.
class LinePrinter {
 public:
  struct Options {
    std::ostream* out = nullptr;
    // Begins each line with "[worker-0]:    ": the task in brackets and a colon, padded to 14, and
    // a space, like TensorFlow's multi-process runner.
    bool prefix = true;
    // Escapes control characters, for a terminal.
    bool printable = false;
  };
  explicit LinePrinter(Options options) : options_(options) {}

  // `who` is the text in the brackets, such as "worker-0"; `line` has no newline.
  void Print(std::string_view who, std::string_view line);
  void Flush() { options_.out->flush(); }

 private:
  const Options options_;
};

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_LINE_PRINTER_H_
