#include "launcher/process/kill_modes.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>

#include "launcher/process/cgroup.h"
#include "launcher/process/paused_process.h"
#include "launcher/process/pid_namespace.h"
#include "launcher/process/process_table.h"

namespace launcher {
namespace {

constexpr int kDeathMs = 2000;
constexpr std::array<std::string_view, 5> kNames = {"cgroup2", "freezer", "namespace", "subreaper",
                                                    "group"};

// Creates a control group in `parent`, kills a process by it, and removes it. Returns the error;
// empty if it worked.
std::string TryCgroup(const std::string& parent, std::string_view needed_file) {
  std::string why;
  const std::string name = std::string(kCgroupPrefix) + "probe-" + std::to_string(getpid());
  const std::string path = MakeCgroup(parent, name, &why);
  if (path.empty()) return why;
  PausedProcess process;
  if (access((path + "/" + std::string(needed_file)).c_str(), W_OK) != 0) {
    why = "the kernel has no " + std::string(needed_file);
  } else if (process.pid() < 0) {
    why = std::string("cannot start a process: ") + strerror(errno);
  } else if (MoveToCgroup(path, process.pid(), &why)) {
    KillCgroup(path);
    if (!process.AwaitEnd(kDeathMs)) why = "a process in " + path + " could not be killed";
  }
  RemoveCgroup(path);
  return why;
}

KillModeOffer ProbeCgroup(KillMode mode) {
  const bool is_2 = mode == KillMode::kCgroup2;
  KillModeOffer offer{mode, false, {}};
  const std::string parent =
      is_2 ? OwnCgroup(&offer.detail) : OwnCgroupOf("freezer", &offer.detail);
  if (parent.empty()) return offer;
  offer.detail = TryCgroup(parent, is_2 ? "cgroup.kill" : "freezer.state");
  offer.offered = offer.detail.empty();
  if (offer.offered) offer.detail = "in " + parent;
  return offer;
}

KillModeOffer ProbeNamespace() {
  const std::string why = ProbePidNamespace();
  return {KillMode::kNamespace, why.empty(), why.empty() ? "where it is asked for" : why};
}

KillModeOffer ProbeSubreaper() {
  KillModeOffer offer{KillMode::kSubreaper, false, {}};
  int is_one = 0;
  PausedProcess process;
  if (prctl(PR_GET_CHILD_SUBREAPER, &is_one) != 0) {
    offer.detail = std::string("the kernel gives orphans to init only: ") + strerror(errno);
    return offer;
  }
  const auto found = LiveDescendants(getpid());
  if (std::find(found.begin(), found.end(), process.pid()) == found.end()) {
    offer.detail = "/proc does not show our own children";
    return offer;
  }
  offer.offered = kill(process.pid(), SIGKILL) == 0 && process.AwaitEnd(kDeathMs);
  offer.detail = offer.offered ? "everywhere" : "a child could not be killed";
  return offer;
}

KillModeOffer ProbeGroup(bool needed) {
  KillModeOffer offer{KillMode::kGroup, false, {}};
  if (!needed) {
    offer.detail = "only where there is nothing better: it misses who leaves the group";
    return offer;
  }
  PausedProcess process;
  offer.offered = process.pid() > 0 && setpgid(process.pid(), process.pid()) == 0 &&
                  kill(-process.pid(), SIGKILL) == 0 && process.AwaitEnd(kDeathMs);
  offer.detail = offer.offered ? "misses who leaves the group" : "a group could not be killed";
  return offer;
}

}  // namespace

std::string_view KillModeName(KillMode mode) { return kNames[static_cast<std::size_t>(mode)]; }

std::optional<KillMode> KillModeNamed(std::string_view name) {
  for (const KillMode mode : kKillModes) {
    if (KillModeName(mode) == name) return mode;
  }
  return std::nullopt;
}

std::vector<KillMode> KillModesFor(std::string_view name) {
  if (name.empty() || name == "auto") {
    return {KillMode::kCgroup2, KillMode::kFreezer, KillMode::kSubreaper, KillMode::kGroup};
  }
  const auto mode = KillModeNamed(name);
  return mode ? std::vector<KillMode>{*mode} : std::vector<KillMode>{};
}

std::vector<KillModeOffer> ProbeKillModes() {
  std::vector<KillModeOffer> offers = {ProbeCgroup(KillMode::kCgroup2),
                                       ProbeCgroup(KillMode::kFreezer), ProbeNamespace(),
                                       ProbeSubreaper()};
  offers.push_back(ProbeGroup(!offers.back().offered));
  return offers;
}

}  // namespace launcher
