#ifndef TOOLS_YARD_SERVICES_INFO_HEALTH_H_
#define TOOLS_YARD_SERVICES_INFO_HEALTH_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/yard/services/health.h"

namespace yard {

// A rule of `yard doctor` (health.h): the directory in which TensorBoard and tools like it tell
// that they run, one pid-PID.info each. A tool that was killed leaves its file, and TensorBoard in
// a notebook then "reuses" what is not there any more.

// A tool that runs, as its info file has it.
struct ToolFacts {
  pid_t pid = 0;
  std::uint16_t port = 0;        // 0: it names none.
  std::string path_prefix = {};  // "/tensorboard"
};

struct InfoFacts {
  std::string path;                        // Path of the directory.
  int error = 0;                           // An errno, if it cannot be read; ENOENT is fine.
  uid_t owner = 0;                         // Owner of the directory.
  bool writable = true;                    // By us.
  std::size_t live = 0;                    // Ours, of a process of ours that runs.
  std::size_t others = 0;                  // Files of other users, whatever is in them.
  std::vector<std::string> dead = {};      // Paths of ours whose process has ended;
  std::vector<std::string> unusable = {};  // and of what is no info file, or cannot be read.
  std::string reason = {};                 // Reason for the first unusable one.
  bool cut = false;                        // There is more than was looked at.
  std::vector<ToolFacts> tools = {};       // The live ones.
};
Findings CheckInfos(const InfoFacts& facts);

// Whether a process of ours has this id.
using ProcessRuns = std::function<bool(pid_t pid)>;
bool OwnProcessRuns(pid_t pid);

// Looks at ".tensorboard-info" of the temporary directory that a program with this environment
// ("NAME=value") has. The files there are not trusted: no link is followed, nothing is waited for,
// and only small files, and not too many of them, are read. Blocks on the file system.
InfoFacts LookAtInfos(const std::vector<std::string>& environment,
                      const ProcessRuns& runs = OwnProcessRuns);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_INFO_HEALTH_H_
