#ifndef TOOLS_YARD_LINE_PRINTER_H_
#define TOOLS_YARD_LINE_PRINTER_H_

#include <map>
#include <ostream>
#include <string>
#include <string_view>

namespace yard {

// Turns pieces of output into whole lines. A piece that ends inside a line is kept (at most 1 MiB)
// until the rest comes or Finish() is called.
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

  // `task` is "j-abcde/worker-0".
  void Print(std::string_view task, std::string_view piece);
  // Prints what is left of a task's line without an end: a new attempt begins a new one.
  void FinishLine(std::string_view task);
  // The same for all tasks.
  void Finish();

 private:
  void PrintLine(std::string_view task, std::string_view line);

  const Options options_;
  std::map<std::string, std::string, std::less<>> rest_;
};

}  // namespace yard

#endif  // TOOLS_YARD_LINE_PRINTER_H_
