#ifndef BUS_ALERT_COMMAND_JOB_H_
#define BUS_ALERT_COMMAND_JOB_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"

namespace bus {

// A command line of the user's that is told something as JSON.
struct ShellCommand {
  std::string command;                   // For /bin/sh.
  std::string input;                     // On its standard input; at most kMostInput bytes.
  std::vector<std::string> environment;  // Complete: "NAME=value".
  // More of it; each replaces an entry of that name.
  std::vector<std::pair<std::string, std::string>> variables;
  std::string working_directory;
  absl::Duration limit = absl::ZeroDuration();  // Limit of each try. Zero: none.
  std::uint32_t tries = 1;
};

// The kernel takes no longer entry of an environment.
inline constexpr std::size_t kMostInput = 96 << 10;

// The spec of a job that runs it, without name and labels. The input goes along in the environment
// of the shell that starts the command, so that the launcher keeps it with the job, and no file has
// to be removed after any crash; the command itself does not have it there.
msg::JobSpecT JobOf(const ShellCommand& line);

}  // namespace bus

#endif  // BUS_ALERT_COMMAND_JOB_H_
