#ifndef LAUNCHER_PROCESS_KILL_MODES_H_
#define LAUNCHER_PROCESS_KILL_MODES_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launcher {

// The ways in which a shim kills a task and everything that it has started, best first (see
// docs/launcher.md). Plain types without dependencies, because the static shim links it.
enum class KillMode {
  kCgroup2,    // A version 2 control group: cgroup.kill.
  kFreezer,    // A version 1 control group: freeze, kill each, thaw.
  kNamespace,  // A pid namespace; used only on request, because the task can see it.
  kSubreaper,  // Kills the subreaper's descendants, to which all orphans belong, until none is
               // left.
  kGroup,      // Only the process group; processes that have left it survive.
};
inline constexpr std::array<KillMode, 5> kKillModes = {KillMode::kCgroup2, KillMode::kFreezer,
                                                       KillMode::kNamespace, KillMode::kSubreaper,
                                                       KillMode::kGroup};

// Returns "cgroup2", "freezer", "namespace", "subreaper" or "group".
std::string_view KillModeName(KillMode mode);
std::optional<KillMode> KillModeNamed(std::string_view name);
// Returns the modes to try for a task's request: the named mode, or, for "" or "auto", all modes
// that the task cannot see. Empty for an unknown name.
std::vector<KillMode> KillModesFor(std::string_view name);

// Whether a mode is available to this process and its children on this machine.
struct KillModeOffer {
  KillMode mode;
  bool offered = false;
  std::string detail;  // Where it is available, or why it is not.
};
// Tries each mode on a process of its own that it kills, and returns the results in the order of
// kKillModes. Blocks for some tens of milliseconds. Any thread may call it, except one that waits
// for all of its children.
std::vector<KillModeOffer> ProbeKillModes();

}  // namespace launcher

#endif  // LAUNCHER_PROCESS_KILL_MODES_H_
