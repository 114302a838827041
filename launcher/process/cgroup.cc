#include "launcher/process/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "runtime/file/unique_fd.h"

namespace launcher {
namespace {

constexpr std::size_t kMaxFile = 4 << 20;
constexpr int kMaxDepth = 32;
// Number of waits for FROZEN, of a millisecond each. Processes that are not frozen by then are
// killed while they run.
constexpr int kFreezeRounds = 20;

std::string ReadWhole(const std::string& path) {
  const runtime::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content;
  char chunk[4096];
  while (fd.valid() && content.size() < kMaxFile) {
    const ssize_t got = read(fd.get(), chunk, sizeof chunk);
    if (got <= 0) break;
    content.append(chunk, static_cast<std::size_t>(got));
  }
  return content;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = text.find(separator);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

bool Lists(std::string_view list, std::string_view word) {
  for (const auto& part : Split(list, ',')) {
    if (part == word) return true;
  }
  return false;
}

// Returns our path inside the hierarchy of a controller; of version 2 if `controller` is empty.
// (Lines are ID:CONTROLLERS:PATH.)
std::optional<std::string> OwnPath(std::string_view controller) {
  for (const auto& line : Split(ReadWhole("/proc/self/cgroup"), '\n')) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const bool matches =
        controller.empty() ? line.starts_with("0::") : Lists(controllers, controller);
    if (matches) return line.substr(second + 1);
  }
  return std::nullopt;
}

// The mount point of a hierarchy, and the directory of the hierarchy that is mounted there.
struct Mount {
  std::string point, root;
};

// (Fields: ID PARENT DEVICE ROOT POINT OPTIONS ... - TYPE SOURCE OPTIONS.)
std::optional<Mount> FindMount(std::string_view controller) {
  for (const auto& line : Split(ReadWhole("/proc/self/mountinfo"), '\n')) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos || line.find('\\') < dash) continue;
    const auto fields = Split(std::string_view(line).substr(0, dash), ' ');
    const auto type = Split(std::string_view(line).substr(dash + 3), ' ');
    if (fields.size() < 5 || type.size() < 3) continue;
    const bool matches = controller.empty() ? type[0] == "cgroup2"
                                            : type[0] == "cgroup" && Lists(type[2], controller);
    if (matches) return Mount{fields[4], fields[3]};
  }
  return std::nullopt;
}

std::string OwnDirectory(std::string_view controller, std::string* why) {
  const auto mount = FindMount(controller);
  const auto path = OwnPath(controller);
  if (!mount || !path) {
    *why = controller.empty() ? std::string("no version 2 hierarchy is mounted")
                              : "no version 1 hierarchy with the controller " +
                                    std::string(controller) + " is mounted";
    return {};
  }
  const std::string root = mount->root == "/" ? "" : mount->root;
  const bool is_below = path->starts_with(root) && !path->starts_with("/..") &&
                        (path->size() == root.size() || (*path)[root.size()] == '/');
  if (!is_below) {
    *why = "our own control group is not below " + mount->point;
    return {};
  }
  std::string below = path->substr(root.size());
  while (below.ends_with('/')) below.pop_back();
  return mount->point + below;
}

long FileSystemOf(const std::string& path) {
  struct statfs about = {};
  return statfs(path.c_str(), &about) == 0 ? static_cast<long>(about.f_type) : 0;
}

std::vector<std::string> Below(const std::string& path) {
  std::vector<std::string> paths;
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return paths;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
      paths.push_back(path + "/" + entry->d_name);
    }
  }
  closedir(directory);
  return paths;
}

int KillListed(const std::string& path, int depth) {
  int found = 0;
  for (const auto& line : Split(ReadWhole(path + "/cgroup.procs"), '\n')) {
    const pid_t pid = atoi(line.c_str());
    if (pid > 0 && pid != getpid() && kill(pid, SIGKILL) == 0) ++found;
  }
  if (depth >= kMaxDepth) return found;
  for (const auto& child : Below(path)) found += KillListed(child, depth + 1);
  return found;
}

void Freeze(const std::string& path) {
  std::string ignored;
  if (!WriteCgroupFile(path, "freezer.state", "FROZEN", &ignored)) return;
  for (int i = 0; i < kFreezeRounds; ++i) {
    if (ReadWhole(path + "/freezer.state") == "FROZEN\n") return;
    const timespec round = {0, 1'000'000};
    nanosleep(&round, nullptr);
  }
}

int KillFrozen(const std::string& path) {
  Freeze(path);
  const int found = KillListed(path, 0);
  std::string ignored;
  WriteCgroupFile(path, "freezer.state", "THAWED", &ignored);
  return found;
}

int KillPopulated(const std::string& path) {
  if (ReadWhole(path + "/cgroup.events").find("populated 1") == std::string::npos) return 0;
  std::string ignored;
  return WriteCgroupFile(path, "cgroup.kill", "1", &ignored) ? 1 : KillListed(path, 0);
}

bool IsOurs(const std::string& path) {
  return std::string_view(path).substr(path.rfind('/') + 1).starts_with(kCgroupPrefix);
}

bool RemoveBelow(const std::string& path, int depth) {
  if (rmdir(path.c_str()) == 0 || errno == ENOENT) return true;
  if (depth >= kMaxDepth) return false;
  for (const auto& child : Below(path)) RemoveBelow(child, depth + 1);
  return rmdir(path.c_str()) == 0 || errno == ENOENT;
}

}  // namespace

std::string OwnCgroup(std::string* why) { return OwnDirectory("", why); }

std::string OwnCgroupOf(std::string_view controller, std::string* why) {
  return OwnDirectory(controller, why);
}

std::string MakeCgroup(const std::string& parent, const std::string& name, std::string* why) {
  std::string path = parent + "/" + name;
  if (mkdir(path.c_str(), 0755) != 0) {
    *why = "cannot make " + path + ": " + strerror(errno);
    return {};
  }
  const long type = FileSystemOf(path);
  if (type == CGROUP2_SUPER_MAGIC || type == CGROUP_SUPER_MAGIC) return path;
  rmdir(path.c_str());
  *why = parent + " is no control group";
  return {};
}

bool WriteCgroupFile(const std::string& path, std::string_view file, const std::string& value,
                     std::string* why) {
  const std::string name = path + "/" + std::string(file);
  const runtime::UniqueFd fd(open(name.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.valid() &&
      write(fd.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size())) {
    return true;
  }
  *why = "cannot write " + name + ": " + strerror(errno);
  return false;
}

bool MoveToCgroup(const std::string& path, int pid, std::string* why) {
  return WriteCgroupFile(path, "cgroup.procs", std::to_string(pid), why);
}

int KillCgroup(const std::string& path) {
  const long type = FileSystemOf(path);
  if (!IsOurs(path) || (type != CGROUP2_SUPER_MAGIC && type != CGROUP_SUPER_MAGIC)) return 0;
  const bool is_2 = type == CGROUP2_SUPER_MAGIC;
  const bool freezes = !is_2 && access((path + "/freezer.state").c_str(), W_OK) == 0;
  std::string own, ignored;
  if (is_2 || freezes) own = OwnDirectory(is_2 ? "" : "freezer", &ignored);
  if (own == path || own.starts_with(path + "/")) return 0;
  if (is_2) return KillPopulated(path);
  if (ReadWhole(path + "/cgroup.procs").empty() && Below(path).empty()) return 0;
  return freezes ? KillFrozen(path) : KillListed(path, 0);
}

bool RemoveCgroup(const std::string& path) { return IsOurs(path) && RemoveBelow(path, 0); }

std::uint64_t MemoryKills(const std::string& path, bool is_2) {
  const std::string file = path + (is_2 ? "/memory.events" : "/memory.oom_control");
  for (const auto& line : Split(ReadWhole(file), '\n')) {
    constexpr std::string_view kKey = "oom_kill ";
    if (line.starts_with(kKey)) return strtoull(line.c_str() + kKey.size(), nullptr, 10);
  }
  return 0;
}

}  // namespace launcher
