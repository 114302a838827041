#ifndef LAUNCHER_PROCESS_KILL_MODES_H_
#define LAUNCHER_PROCESS_KILL_MODES_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launcher {

// The ways in which a shim kills a task with everything it has started, best first (see
// docs/launcher.md). Plain types and no dependencies, because the static shim links it.
enum class KillMode {
  kCgroup2,    // A version 2 control group: cgroup.kill.
  kFreezer,    // A version 1 control group: freeze, kill each, thaw.
  kNamespace,  // A process namespace; only where it is asked for, because the task sees it.
  kSubreaper,  // Kills the subreaper's descendants, to which all orphans belong, until none is
               // left.
  kGroup,      // The process group only; processes that left it survive.
};
inline constexpr std::array<KillMode, 5> kKillModes = {KillMode::kCgroup2, KillMode::kFreezer,
                                                       KillMode::kNamespace, KillMode::kSubreaper,
                                                       KillMode::kGroup};

// "cgroup2", "freezer", "namespace", "subreaper", "group".
std::string_view KillModeName(KillMode mode);
std::optional<KillMode> KillModeNamed(std::string_view name);
// The modes to be tried for what a task asks for: a mode's name, or, with "" or "auto", every mode
// that the task cannot see. Empty if there is no such mode.
std::vector<KillMode> KillModesFor(std::string_view name);

// Whether this machine offers a mode to this process and its children.
struct KillModeOffer {
  KillMode mode;
  bool offered = false;
  std::string detail;  // Where, or why not.
};
// Finds out by doing it: makes a process in each way and kills it. In the order of kKillModes.
// Takes some tens of milliseconds; any thread, though not one that waits for all its children.
std::vector<KillModeOffer> ProbeKillModes();

}  // namespace launcher

#endif  // LAUNCHER_PROCESS_KILL_MODES_H_
