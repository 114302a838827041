#ifndef TOOLS_YARD_HEALTH_INFO_HEALTH_H_
#define TOOLS_YARD_HEALTH_INFO_HEALTH_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/yard/health/health.h"

namespace yard {

// A rule of `yard doctor` (health.h) about the directory in which TensorBoard and similar tools
// announce themselves, each by a file pid-PID.info. A killed tool leaves its file behind, and
// TensorBoard in a notebook then tries to reuse a server that no longer exists.

// A running tool, from its info file.
struct ToolFacts {
  pid_t pid = 0;
  std::uint16_t port = 0;        // 0 if the file has none.
  std::string path_prefix = {};  // "/tensorboard"
};

struct InfoFacts {
  std::string path;                        // Path of the directory.
  int error = 0;                           // errno if it cannot be read; ENOENT is fine.
  uid_t owner = 0;                         // Owner of the directory.
  bool writable = true;                    // Writable for this user.
  std::size_t live = 0;                    // Files of this user whose process runs.
  std::size_t others = 0;                  // Files of other users, whatever they contain.
  std::vector<std::string> dead = {};      // Paths of our files whose process has ended.
  std::vector<std::string> unusable = {};  // Paths of our files that are no readable info files.
  std::string reason = {};                 // Reason for the first of them.
  bool cut = false;                        // There are more files than were examined.
  std::vector<ToolFacts> tools = {};       // The live tools.
};
Findings CheckInfos(const InfoFacts& facts);

// Returns true if a process of this user has this id.
using ProcessRuns = std::function<bool(pid_t pid)>;
bool OwnProcessRuns(pid_t pid);

// Examines ".tensorboard-info" in the temporary directory of a program with this environment
// ("NAME=value"). Does not trust the files: follows no links, never waits for data, and reads a
// limited number of small files. Blocks on the file system.
InfoFacts LookAtInfos(const std::vector<std::string>& environment,
                      const ProcessRuns& runs = OwnProcessRuns);

}  // namespace yard

#endif  // TOOLS_YARD_HEALTH_INFO_HEALTH_H_
