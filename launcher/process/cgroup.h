#ifndef LAUNCHER_PROCESS_CGROUP_H_
#define LAUNCHER_PROCESS_CGROUP_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace launcher {

// Control groups as the shim and the launcher use them: a new directory for each attempt of a task,
// inside our own group. Supports version 2, and the hierarchies of version 1 with one controller
// each. Plain functions without dependencies, because the static shim links them. No function
// blocks for longer than some milliseconds.

// Return the directory of our own group in the version 2 hierarchy, or in the version 1 hierarchy
// of `controller` ("freezer", "memory", ...). Empty, with `why` set, if it is not visible.
std::string OwnCgroup(std::string* why);
std::string OwnCgroupOf(std::string_view controller, std::string* why);

// The prefix of the names of all directories that are created here.
inline constexpr std::string_view kCgroupPrefix = "yard-";

// Creates `parent`/`name` and returns its path. Empty, with `why` set, if that fails, or if the new
// directory is not a control group (in a container it may be a plain directory).
std::string MakeCgroup(const std::string& parent, const std::string& name, std::string* why);
// Writes a file of a control group. Returns false, with `why` set, if that is refused or the file
// does not exist.
bool WriteCgroupFile(const std::string& path, std::string_view file, const std::string& value,
                     std::string* why);
// Moves a process into a control group. (Takes milliseconds: the kernel waits for all CPUs.)
bool MoveToCgroup(const std::string& path, int pid, std::string* why);

// Kills every process in a control group and its descendants: with cgroup.kill, by freezing first,
// or one by one. Returns the number of processes (for version 2: 1 if there were any); call it
// until it returns 0. Kills nothing, and returns 0, if `path` was not created here or we are in it
// ourselves.
int KillCgroup(const std::string& path);
// Removes a control group and its descendants. Returns false if it still exists because it has
// processes.
bool RemoveCgroup(const std::string& path);
// Returns how many of its processes the kernel has killed for lack of memory. (`is_2`: the group is
// of version 2.)
std::uint64_t MemoryKills(const std::string& path, bool is_2);

}  // namespace launcher

#endif  // LAUNCHER_PROCESS_CGROUP_H_
