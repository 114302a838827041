#include "tools/yard/state/yard_command.h"

#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"
#include "runtime/text/shell_word.h"

namespace yard {

std::string YardCommand(std::string_view verb, std::string_view name) {
  std::string command = "yard " + std::string(verb) + " ";
  if (name.starts_with('-')) command += "-- ";
  return command + runtime::Printable(runtime::ShellWord(name));
}

std::string CommandToUse(const std::string& directory, const std::string& variable) {
  constexpr std::string_view kOurs = "/yard";
  if (variable == "XDG_RUNTIME_DIR" && directory.size() > kOurs.size() &&
      directory.ends_with(kOurs)) {
    const std::string parent = directory.substr(0, directory.size() - kOurs.size());
    return absl::StrCat("export XDG_RUNTIME_DIR=", runtime::ShellWord(parent));
  }
  return absl::StrCat("export YARD_REGISTRY=",
                      runtime::ShellWord("ipc://" + directory + "/registry"));
}

}  // namespace yard
