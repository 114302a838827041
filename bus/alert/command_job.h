#ifndef BUS_ALERT_COMMAND_JOB_H_
#define BUS_ALERT_COMMAND_JOB_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"

namespace bus {

// A user's command line that receives JSON on its standard input.
struct ShellCommand {
  std::string command;                   // For its standard input; at most kMostInput bytes.
  std::string input;                     // On its standard input; at most kMostInput bytes.
  std::vector<std::string> environment;  // Complete: "NAME=value".
  // Additional variables; each replaces an entry of the same name.
  std::vector<std::pair<std::string, std::string>> variables;
  std::string working_directory;
  absl::Duration limit = absl::ZeroDuration();  // Limit of each attempt. Zero: unlimited.
  std::uint32_t tries = 1;
};

// The kernel accepts no longer environment entry.
inline constexpr std::size_t kMostInput = 96 << 10;

// Returns the spec of a job that runs the command line, without name and labels. The input travels
// in the environment of the shell that starts the command, so that the launcher stores it with the
// job and no file must be removed after a crash. The command itself does not see it in its
// environment.
msg::JobSpecT JobOf(const ShellCommand& line);

}  // namespace bus

#endif  // BUS_ALERT_COMMAND_JOB_H_
