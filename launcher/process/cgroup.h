#ifndef LAUNCHER_PROCESS_CGROUP_H_
#define LAUNCHER_PROCESS_CGROUP_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace launcher {

// Control groups as the shim and the launcher use them: a fresh directory for each attempt of a
// task, under the one we are in ourselves. Both hierarchies: version 2, and those of version 1 with
// one controller each. Plain functions and no dependencies, because the static shim links them.
// Nothing here blocks for longer than some milliseconds.

// Our own directory in the version 2 hierarchy, or in that of version 1 with `controller`
// ("freezer", "memory", ...). Empty, with `why` set, if it cannot be seen.
std::string OwnCgroup(std::string* why);
std::string OwnCgroupOf(std::string_view controller, std::string* why);

// The beginning of the last part of the path of every directory that is made here.
inline constexpr std::string_view kCgroupPrefix = "yard-";

// Makes `parent`/`name` and returns its path. Empty, with `why` set, if that cannot be done, or if
// what was made is no control group (in a container it may be a plain directory).
std::string MakeCgroup(const std::string& parent, const std::string& name, std::string* why);
// Writes one of its files. False, with `why` set, if that is refused or there is no such file.
bool WriteCgroupFile(const std::string& path, std::string_view file, const std::string& value,
                     std::string* why);
// Moves a process into it. (Takes milliseconds: the kernel waits for all processors.)
bool MoveToCgroup(const std::string& path, int pid, std::string* why);

// Kills every process in it and in those below: with cgroup.kill, by freezing first, or one by one.
// Returns how many there were (for version 2: whether there were any); call it again until that is
// 0. Nothing is killed, and 0 returned, if `path` was not made here or we are in it ourselves.
int KillCgroup(const std::string& path);
// Removes it and those below. False if it is still there, because a process is.
bool RemoveCgroup(const std::string& path);
// How many of its processes were killed because memory was short. (`is_2`: it is of version 2.)
std::uint64_t MemoryKills(const std::string& path, bool is_2);

}  // namespace launcher

#endif  // LAUNCHER_PROCESS_CGROUP_H_
