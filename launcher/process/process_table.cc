#include "launcher/process/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "launcher/process/cgroup.h"
#include "runtime/file/unique_fd.h"

namespace launcher {
namespace {

// Inherited descriptors are among the first of a process, so higher numbers are not examined.
constexpr int kMaxDescriptors = 65536;
constexpr unsigned kExiting = 4;  // The kernel's PF_EXITING.
// Limit of rounds in KillDescendants(). If processes fork faster, the caller tries again later.
constexpr int kMaxLooks = 50;

std::string ReadSmallFile(const std::string& path, std::size_t limit) {
  const runtime::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content;
  char chunk[4096];
  while (fd.valid() && content.size() < limit) {
    const ssize_t got = read(fd.get(), chunk, sizeof chunk);
    if (got <= 0) break;
    content.append(chunk, static_cast<std::size_t>(got));
  }
  return content;
}

// Returns the children of all threads of a process; nullopt if the kernel was built without these
// lists or the process has ended.
std::optional<std::vector<pid_t>> ReadChildren(pid_t pid) {
  const std::string threads = "/proc/" + std::to_string(pid) + "/task";
  DIR* directory = opendir(threads.c_str());
  if (directory == nullptr) return std::nullopt;
  std::vector<pid_t> children;
  bool readable = false;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] == '.') continue;
    const std::string path = threads + "/" + entry->d_name + "/children";
    readable = readable || access(path.c_str(), R_OK) == 0;
    const std::string list = ReadSmallFile(path, 4 << 20);
    for (const char* at = list.c_str(); *at != '\0';) {
      char* end = nullptr;
      const long child = strtol(at, &end, 10);
      if (end == at) break;
      children.push_back(static_cast<pid_t>(child));
      at = *end == ' ' ? end + 1 : end;
    }
  }
  closedir(directory);
  if (!readable) return std::nullopt;
  return children;
}

// True if `path`, an entry of /proc/PID/fd, was opened for writing: the mode of the entry says so.
bool IsWritable(const std::string& path) {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0 && (status.st_mode & S_IWUSR) != 0;
}

bool HoldsOneOf(pid_t pid, const std::vector<std::string>& files) {
  const std::string directory = "/proc/" + std::to_string(pid) + "/fd";
  DIR* descriptors = files.empty() ? nullptr : opendir(directory.c_str());
  if (descriptors == nullptr) return false;
  bool holds = false;
  for (int i = 0; i < kMaxDescriptors && !holds; ++i) {
    const dirent* entry = readdir(descriptors);
    if (entry == nullptr) break;
    const std::string name = OpenFileName(directory + "/" + entry->d_name);
    holds = !name.empty() && std::find(files.begin(), files.end(), name) != files.end() &&
            IsWritable(directory + "/" + entry->d_name);
  }
  closedir(descriptors);
  return holds;
}

}  // namespace

std::optional<ProcessRow> ReadProcess(pid_t pid, const std::string& proc) {
  const std::string stat = ReadSmallFile(proc + "/" + std::to_string(pid) + "/stat", 4096);
  // The name may contain any characters, so fields are counted from the last parenthesis.
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  ProcessRow row;
  row.pid = pid;
  unsigned flags = 0;
  long threads = 0;
  unsigned long long user = 0, system = 0, ticks = 0;
  long children_user = 0, children_system = 0, pages = 0;
  const int fields = sscanf(stat.c_str() + name_end + 1,
                            " %c %d %*d %d %*d %*d %u %*u %*u %*u %*u %llu %llu %ld %ld %*d %*d "
                            "%ld %*d %llu %*u %ld",
                            &row.state, &row.parent, &row.session, &flags, &user, &system,
                            &children_user, &children_system, &threads, &ticks, &pages);
  row.start_ticks = ticks;
  row.cpu_ticks = user + system;
  row.children_cpu_ticks =
      static_cast<std::uint64_t>(children_user) + static_cast<std::uint64_t>(children_system);
  row.resident_pages = static_cast<std::uint64_t>(std::max(pages, 0L));
  // (If its first thread has ended, it shows as a zombie although the other threads still run.)
  row.over = threads <= 1 && (row.state == 'Z' || (flags & kExiting) != 0);
  if (fields != 11) return std::nullopt;
  return row;
}

std::vector<ProcessRow> ReadProcesses(const std::string& proc) {
  std::vector<ProcessRow> table;
  DIR* directory = opendir(proc.c_str());
  if (directory == nullptr) return table;
  while (const dirent* entry = readdir(directory)) {
    const pid_t pid = atoi(entry->d_name);
    if (pid <= 0) continue;
    if (const auto row = ReadProcess(pid, proc)) table.push_back(*row);
  }
  closedir(directory);
  return table;
}

ProcessTree::ProcessTree(const std::vector<ProcessRow>& table) {
  for (const ProcessRow& row : table) {
    by_pid_.emplace(row.pid, &row);
    by_parent_.emplace(row.parent, &row);
  }
}

std::vector<const ProcessRow*> ProcessTree::Below(pid_t root) const {
  std::vector<const ProcessRow*> below;
  // (The rows were not read at one instant, so there may be cycles.)
  std::set<pid_t> seen = {root};
  std::vector<pid_t> todo = {root};
  while (!todo.empty()) {
    const auto [first, last] = by_parent_.equal_range(todo.back());
    todo.pop_back();
    for (auto child = first; child != last; ++child) {
      if (!seen.insert(child->second->pid).second) continue;
      below.push_back(child->second);
      todo.push_back(child->second->pid);
    }
  }
  return below;
}

const ProcessRow* ProcessTree::Find(pid_t pid) const {
  const auto found = by_pid_.find(pid);
  return found == by_pid_.end() ? nullptr : found->second;
}

std::vector<pid_t> Descendants(const std::vector<ProcessRow>& table, pid_t root) {
  std::vector<pid_t> alive;
  for (const ProcessRow* row : ProcessTree(table).Below(root)) {
    if (!row->over) alive.push_back(row->pid);
  }
  return alive;
}

std::vector<pid_t> LiveDescendants(pid_t root) {
  std::vector<pid_t> todo = {root}, alive;
  std::set<pid_t> seen = {root};
  while (!todo.empty()) {
    const pid_t parent = todo.back();
    todo.pop_back();
    const auto children = ReadChildren(parent);
    if (!children && parent == root) return Descendants(ReadProcesses(), root);
    if (!children) continue;
    for (const pid_t child : *children) {
      if (!seen.insert(child).second) continue;
      todo.push_back(child);
      const auto row = ReadProcess(child);
      if (row && !row->over) alive.push_back(child);
    }
  }
  return alive;
}

int KillDescendants(pid_t root) {
  std::set<pid_t> killed;
  for (int look = 0; look < kMaxLooks; ++look) {
    bool is_new = false;
    for (const pid_t pid : LiveDescendants(root)) {
      is_new = killed.insert(pid).second || is_new;
      kill(pid, SIGKILL);
    }
    if (!is_new) break;
  }
  return static_cast<int>(killed.size());
}

bool HasEnvironmentEntry(pid_t pid, std::string_view entry) {
  // The environment may have megabytes; the shim puts its own entries first.
  const std::string environment =
      ReadSmallFile("/proc/" + std::to_string(pid) + "/environ", 4 << 20);
  std::string_view rest = environment;
  while (!rest.empty()) {
    const auto end = rest.find('\0');
    if (rest.substr(0, end) == entry) return true;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return false;
}

std::string OpenFileName(const std::string& path) {
  char name[256];
  const ssize_t size = readlink(path.c_str(), name, sizeof name);
  return size > 0 ? std::string(name, static_cast<std::size_t>(size)) : std::string();
}

std::string OpenFileName(int fd) {
  struct stat status = {};
  if (fstat(fd, &status) != 0) return {};
  const std::string number = "[" + std::to_string(status.st_ino) + "]";
  if (S_ISFIFO(status.st_mode)) return "pipe:" + number;
  if (S_ISSOCK(status.st_mode)) return "socket:" + number;
  return OpenFileName("/proc/self/fd/" + std::to_string(fd));
}

std::uint64_t StartTicksNow() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const auto a_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return static_cast<std::uint64_t>(now.tv_sec) * a_second +
         static_cast<std::uint64_t>(now.tv_nsec) * a_second / 1'000'000'000;
}

std::string BootId() { return ReadSmallFile("/proc/sys/kernel/random/boot_id", 4096); }

std::vector<pid_t> HoldersOf(const std::vector<ProcessRow>& table,
                             const std::vector<std::string>& files) {
  std::vector<pid_t> holders;
  for (const auto& row : table) {
    if (row.pid != getpid() && HoldsOneOf(row.pid, files)) holders.push_back(row.pid);
  }
  return holders;
}

std::string CommandName(pid_t pid) {
  std::string name = ReadSmallFile("/proc/" + std::to_string(pid) + "/comm", 64);
  while (name.ends_with('\n')) name.pop_back();
  return name.empty() ? "?" : name;
}

int KillOrphanedTree(const OrphanedTree& tree) {
  int in_groups = 0;
  for (const auto& path : tree.cgroups) in_groups += KillCgroup(path);
  const auto table = ReadProcesses();
  const std::string socket = tree.task_socket.empty() ? "" : "YARD_SOCKET=" + tree.task_socket;
  const auto has = [](pid_t pid, const std::string& entry) {
    return !entry.empty() && HasEnvironmentEntry(pid, entry);
  };
  const auto leader = tree.leader > 0 ? ReadProcess(tree.leader) : std::nullopt;
  const bool leader_is_ours = leader && leader->start_ticks == tree.start_ticks;
  const bool match_session = tree.leader > 0 && (leader ? leader_is_ours : tree.session_is_ours);
  const ProcessTree processes(table);
  std::set<pid_t> found;
  for (const auto& row : table) {
    const bool ours = (match_session && row.session == tree.leader) || has(row.pid, socket) ||
                      has(row.pid, tree.mark) ||
                      (row.start_ticks >= tree.not_before && HoldsOneOf(row.pid, tree.files));
    if (!ours || row.pid == getpid() || !found.insert(row.pid).second) continue;
    for (const ProcessRow* below : processes.Below(row.pid)) found.insert(below->pid);
  }
  int alive = 0;
  for (const auto& row : table) {
    if (row.over || row.pid == getpid() || !found.contains(row.pid)) continue;
    if (kill(row.pid, SIGKILL) == 0) ++alive;
  }
  return in_groups + alive;
}

}  // namespace launcher
