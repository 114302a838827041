#ifndef TOOLS_YARD_TEXT_LINE_PRINTER_H_
#define TOOLS_YARD_TEXT_LINE_PRINTER_H_

#include <ostream>
#include <string_view>

namespace yard {

// Prints lines of output with the names of the tasks that said them.
class LinePrinter {
 public:
  struct Options {
    std::ostream* out = nullptr;
    // "[worker-0]:    " before each line: the task in brackets and a colon, 14 wide, a space, as
    // TensorFlow's multi-process runner prints it.
    bool prefix = true;
    // Control characters are made visible: for a terminal.
    bool printable = false;
  };
  explicit LinePrinter(Options options) : options_(options) {}

  // `who` is "worker-0" or whatever else is to stand in the brackets; the line is without its end.
  void Print(std::string_view who, std::string_view line);
  void Flush() { options_.out->flush(); }

 private:
  const Options options_;
};

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_LINE_PRINTER_H_
