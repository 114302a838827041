#include "tools/yard/services/yard_command.h"

#include "runtime/text/printable.h"
#include "runtime/text/shell_word.h"

namespace yard {

std::string YardCommand(std::string_view verb, std::string_view name) {
  std::string command = "yard " + std::string(verb) + " ";
  if (name.starts_with('-')) command += "-- ";
  return command + runtime::Printable(runtime::ShellWord(name));
}

}  // namespace yard
