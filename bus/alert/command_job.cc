#include "bus/alert/command_job.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace bus {
namespace {

constexpr std::string_view kInput = "YARD_COMMAND_INPUT";
// The exit status of the shell is that of the last command of the pipe, which is the user's
// command.
constexpr char kScript[] =
    "input=$YARD_COMMAND_INPUT; unset YARD_COMMAND_INPUT; printf '%s\\n' \"$input\" | \"$@\"";

void Set(std::string_view name, std::string_view value, std::vector<std::string>* environment) {
  const std::string begin = std::string(name) + "=";
  std::erase_if(*environment, [&](const std::string& entry) { return entry.starts_with(begin); });
  environment->push_back(begin + std::string(value));
}

}  // namespace

msg::JobSpecT JobOf(const ShellCommand& line) {
  msg::JobSpecT spec;
  spec.argv = {"/bin/sh", "-c", kScript, "sh"};
  if (line.limit > absl::ZeroDuration()) {
    const std::string seconds = absl::StrCat(absl::ToDoubleSeconds(line.limit));
    spec.argv.insert(spec.argv.end(), {"timeout", "--kill-after=2", seconds});
  }
  spec.argv.insert(spec.argv.end(), {"/bin/sh", "-c", line.command});
  spec.environment = line.environment;
  for (const auto& [name, value] : line.variables) Set(name, value, &spec.environment);
  Set(kInput, std::string_view(line.input).substr(0, kMostInput), &spec.environment);
  spec.working_directory = line.working_directory;
  spec.restart = line.tries > 1 ? msg::RestartPolicy::OnFailure : msg::RestartPolicy::Never;
  spec.max_restarts = std::max(line.tries, 1u) - 1;
  return spec;
}

}  // namespace bus
