#include "tools/yard/state/shims.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "tools/yard/state/processes.h"

namespace yard {
namespace {

constexpr std::size_t kSmallFile = 64 << 10;
constexpr std::size_t kLongestPacket = 64 << 10;
constexpr std::string_view kExited = "phase 6\nexited\n";
// Time for a shim to exit after its task has ended, and for a killed process tree to vanish.
constexpr absl::Duration kToLeave = absl::Seconds(1);
constexpr absl::Duration kRound = absl::Milliseconds(20);

std::vector<pid_t> Processes() {
  std::vector<pid_t> all;
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc", error), end;
  for (; !error && entries != end; entries.increment(error)) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(entries->path().filename().string(), &pid)) all.push_back(pid);
  }
  return all;
}

pid_t ParentOf(pid_t pid) {
  const auto stat = runtime::ReadFile(absl::StrCat("/proc/", pid, "/stat"), kSmallFile);
  const std::size_t name_end = stat.ok() ? stat->rfind(')') : std::string::npos;
  if (name_end == std::string::npos || name_end + 4 >= stat->size()) return 0;
  const std::string rest = stat->substr(name_end + 4);
  pid_t parent = 0;
  return absl::SimpleAtoi(rest.substr(0, rest.find(' ')), &parent) ? parent : 0;
}

// Returns the folder of the attempt if the process is a shim by its command line; otherwise empty.
std::string FolderOf(pid_t pid) {
  constexpr std::string_view kShim("yard-shim\0", 10);
  const auto words = runtime::ReadFile(absl::StrCat("/proc/", pid, "/cmdline"), kSmallFile);
  if (!words.ok() || !words->starts_with(kShim)) return "";
  return words->substr(kShim.size(), words->find('\0', kShim.size()) - kShim.size());
}

std::string JobsFolder(const runtime::Locations& locations) {
  return locations.state_directory + "/jobs/";
}

// Returns all descendants of `root`, without itself.
std::vector<pid_t> DescendantsOf(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : Processes()) children.emplace(ParentOf(pid), pid);
  std::vector<pid_t> all, todo = {root};
  while (!todo.empty()) {
    const auto [begin, end] = children.equal_range(std::exchange(todo.back(), 0));
    todo.pop_back();
    for (auto child = begin; child != end; ++child) {
      all.push_back(child->second);
      todo.push_back(child->second);
    }
  }
  return all;
}

std::string Request(std::string_view what, int signal, absl::Duration grace) {
  std::string request = "YARD-RECORD 1 request\n";
  const auto add = [&](std::string_view key, const std::string& value) {
    absl::StrAppend(&request, std::string(key), " ", value.size(), "\n", value, "\n");
  };
  add("what", std::string(what));
  add("signal", absl::StrCat(signal));
  add("grace_ms", absl::StrCat(absl::ToInt64Milliseconds(grace)));
  return request;
}

class Connection {
 public:
  explicit Connection(const std::string& path)
      : fd_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const bool fits = path.size() < sizeof address.sun_path;
    if (fits) memcpy(address.sun_path, path.c_str(), path.size());
    if (!fits ||
        connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      fd_.reset();
    }
  }
  bool valid() const { return fd_.valid(); }
  void Send(const std::string& request) const {
    (void)send(fd_.get(), request.data(), request.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  // Returns false if the task has not ended by the deadline, or the shim has exited.
  bool AwaitExited(absl::Time deadline) const {
    std::string packet(kLongestPacket, '\0');
    for (;;) {
      pollfd ready = {.fd = fd_.get(), .events = POLLIN, .revents = 0};
      const auto left =
          std::max<std::int64_t>(absl::ToInt64Milliseconds(deadline - absl::Now()), 0);
      if (poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, 1 << 30))) <= 0) {
        return false;
      }
      const ssize_t got = recv(fd_.get(), packet.data(), packet.size(), MSG_DONTWAIT);
      if (got <= 0) return false;
      if (std::string_view(packet.data(), static_cast<std::size_t>(got)).find(kExited) !=
          std::string_view::npos) {
        return true;
      }
    }
  }

 private:
  runtime::UniqueFd fd_;
};

// Kills the shim's descendants first: the shim is their subreaper, so it inherits and kills the
// processes that they leave behind.
void Kill(const OwnProcess& shim) {
  const absl::Time deadline = absl::Now() + kToLeave;
  do {
    const std::vector<pid_t> descendants = DescendantsOf(shim.pid());
    if (descendants.empty()) break;
    const std::set<pid_t> known(descendants.begin(), descendants.end());
    for (const pid_t pid : descendants) {
      const auto held = OwnProcess::Hold(pid, [&](pid_t one) {
        const pid_t parent = ParentOf(one);
        return parent == shim.pid() || known.contains(parent);
      });
      if (held) held->Signal(SIGKILL);
    }
  } while (!shim.AwaitEnd(kRound) && absl::Now() < deadline);
  shim.Signal(SIGKILL);
  (void)shim.AwaitEnd(kToLeave);
}

}  // namespace

std::vector<ShimProcess> ShimsOf(const runtime::Locations& locations) {
  const std::string jobs = JobsFolder(locations);
  std::map<pid_t, ShimProcess> found;
  for (const pid_t pid : Processes()) {
    struct stat about = {};
    if (stat(absl::StrCat("/proc/", pid).c_str(), &about) != 0 || about.st_uid != geteuid()) {
      continue;
    }
    const std::string folder = FolderOf(pid);
    if (!folder.starts_with(jobs)) continue;
    ShimProcess shim{.task = absl::StrReplaceAll(folder.substr(jobs.size()), {{"/", "."}}),
                     .pid = pid};
    shim.control = absl::StrCat(locations.runtime_directory, "/tasks/", shim.task, ".ctl");
    found.emplace(pid, std::move(shim));
  }
  std::vector<ShimProcess> shims;
  for (const auto& [pid, shim] : found) {
    // A forked child has its shim's command line until it execs, so children of shims are skipped.
    if (!found.contains(ParentOf(pid))) shims.push_back(shim);
  }
  return shims;
}

bool IsReachable(const ShimProcess& shim) {
  pid_t peer = 0;
  return Probe(shim.control, SOCK_SEQPACKET, &peer) == Listening::kYes && peer == shim.pid;
}

void EndShims(const std::vector<ShimProcess>& shims, absl::Duration grace, absl::Duration timeout,
              const std::function<void(const ShimProcess& shim, bool killed)>& ended) {
  const absl::Time deadline = absl::Now() + timeout;
  struct Ending {
    const ShimProcess* shim;
    OwnProcess process;
    Connection connection;
  };
  std::vector<Ending> all;
  for (const ShimProcess& shim : shims) {
    auto process = OwnProcess::Hold(shim.pid, [](pid_t pid) { return !FolderOf(pid).empty(); });
    if (!process) continue;
    process->Signal(SIGCONT);
    all.push_back({&shim, *std::move(process), Connection(shim.control)});
    all.back().connection.Send(Request("stop", SIGTERM, grace));
    // A shim reports only changes by itself, and its task may have ended already.
    all.back().connection.Send(Request("state", 0, absl::ZeroDuration()));
  }
  for (const Ending& one : all) {
    bool left = one.connection.valid() && one.connection.AwaitExited(deadline);
    if (left) {
      one.connection.Send(Request("acknowledge", 0, absl::ZeroDuration()));
      // The shim has recorded the task's exit, so it may be killed: it would otherwise keep waiting
      // for someone to take its reports.
      if (!one.process.AwaitEnd(kToLeave)) one.process.Signal(SIGKILL);
      (void)one.process.AwaitEnd(kToLeave);
    } else if (!one.process.AwaitEnd(absl::ZeroDuration())) {
      Kill(one.process);
    } else {
      left = true;
    }
    ended(*one.shim, !left);
  }
}

}  // namespace yard
