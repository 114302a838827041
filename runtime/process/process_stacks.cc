#include "runtime/process/process_stacks.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/string_view.h"

namespace runtime {
namespace {

constexpr std::size_t kMostProcesses = 64;
constexpr std::size_t kMostText = 256 << 10;  // Limit of one process's stacks, in bytes.
constexpr std::size_t kMostEnvironment = 4 << 20;
constexpr std::string_view kStacksFile = "/memfd:yard-stacks-";
constexpr absl::Duration kLook = absl::Milliseconds(10);
// faulthandler writes line by line without an end mark; silence for this long ends its answer.
constexpr absl::Duration kQuiet = absl::Milliseconds(60);

std::string ProcPath(pid_t pid, std::string_view rest) {
  return absl::StrCat("/proc/", pid, "/", Absl(rest));
}

// Files of /proc report no size, so this reads until the end.
std::string ReadProc(const std::string& path, std::size_t limit = 64 << 10) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  while (file.valid() && text.size() < limit) {
    const ssize_t count = read(file.get(), buffer, sizeof(buffer));
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

std::string FirstLine(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

// Returns the numeric names in a directory, sorted.
std::vector<pid_t> NumbersIn(const std::string& directory) {
  std::vector<pid_t> numbers;
  DIR* const open_directory = opendir(directory.c_str());
  if (open_directory == nullptr) return numbers;
  while (const dirent* const entry = readdir(open_directory)) {
    int number = 0;
    if (absl::SimpleAtoi(entry->d_name, &number)) numbers.push_back(number);
  }
  closedir(open_directory);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// Parses state and parent from ".../stat": "7 (name) S 1 ...". The name may contain any characters.
std::pair<char, pid_t> StateAndParent(const std::string& path) {
  const std::string stat = ReadProc(path);
  const std::size_t at = stat.rfind(") ");
  if (at == stat.npos || at + 4 >= stat.size()) return {'?', 0};
  return {stat[at + 2], atoi(stat.c_str() + at + 4)};
}

bool HasEntry(pid_t pid, std::string_view entry) {
  const std::string environment =
      std::string(1, '\0') + ReadProc(ProcPath(pid, "environ"), kMostEnvironment);
  const std::string wanted = absl::StrCat(std::string(1, '\0'), Absl(entry), std::string(1, '\0'));
  return environment.find(wanted) != environment.npos;
}

bool HasShim(pid_t leader) {
  const pid_t parent = StateAndParent(ProcPath(leader, "stat")).second;
  return FirstLine(ReadProc(ProcPath(parent, "comm"))) == "yard-shim";
}

// Returns `leader`, its descendants, and, if a yard-shim is its parent, the shim's other
// descendants.
std::vector<pid_t> ProcessesOfTask(pid_t leader) {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : NumbersIn("/proc")) {
    children.emplace(StateAndParent(ProcPath(pid, "stat")).second, pid);
  }
  std::vector<pid_t> found = {leader};
  const pid_t parent = StateAndParent(ProcPath(leader, "stat")).second;
  const auto add_children = [&](pid_t pid) {
    const auto [begin, end] = children.equal_range(pid);
    for (auto child = begin; child != end && found.size() < kMostProcesses; ++child) {
      if (child->second != leader) found.push_back(child->second);
    }
  };
  for (std::size_t i = 0; i < found.size(); ++i) add_children(found[i]);
  const std::size_t below = found.size();
  if (HasShim(leader)) add_children(parent);
  for (std::size_t i = below; i < found.size(); ++i) add_children(found[i]);
  return found;
}

std::vector<ThreadWait> ThreadsOf(pid_t pid) {
  std::vector<ThreadWait> threads;
  for (const pid_t tid : NumbersIn(ProcPath(pid, "task"))) {
    if (threads.size() == kMostThreads) break;
    const std::string thread = ProcPath(pid, absl::StrCat("task/", tid, "/"));
    ThreadWait wait;
    wait.tid = tid;
    wait.name = FirstLine(ReadProc(thread + "comm"));
    wait.state = StateAndParent(thread + "stat").first;
    wait.wait_channel = FirstLine(ReadProc(thread + "wchan"));
    if (wait.wait_channel == "0") wait.wait_channel.clear();
    threads.push_back(std::move(wait));
  }
  return threads;
}

struct StacksFile {
  UniqueFd fd;
  int signal = 0;
};

// True if the process has a handler for the signal; an unhandled signal would kill it.
bool Handles(pid_t pid, int signal) {
  const std::string status = ReadProc(ProcPath(pid, "status"));
  const std::size_t at = status.find("SigCgt:");
  if (at == status.npos) return false;
  const std::uint64_t caught = strtoull(status.c_str() + at + 7, nullptr, 16);
  return (caught >> (signal - 1) & 1) != 0;
}

std::optional<StacksFile> StacksFileOf(pid_t pid) {
  for (const pid_t number : NumbersIn(ProcPath(pid, "fd"))) {
    const std::string path = ProcPath(pid, absl::StrCat("fd/", number));
    char target[128];
    const ssize_t length = readlink(path.c_str(), target, sizeof(target));
    if (length <= 0) continue;
    std::string_view name(target, static_cast<std::size_t>(length));
    if (name.substr(0, kStacksFile.size()) != kStacksFile) continue;
    name.remove_prefix(kStacksFile.size());
    StacksFile file;
    std::from_chars(name.data(), name.data() + name.size(), file.signal);
    if (file.signal < SIGRTMIN || file.signal > SIGRTMAX || !Handles(pid, file.signal)) continue;
    file.fd = UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (file.fd.valid()) return file;
  }
  return std::nullopt;
}

off_t SizeOf(int fd) {
  struct stat about {};
  return fstat(fd, &about) == 0 ? about.st_size : 0;
}

// Returns the answer once no more lines arrive.
std::string PythonStacks(pid_t pid, const StacksFile& file, absl::Duration timeout) {
  // (The file is appended to, so an earlier answer is removed.)
  if (ftruncate(file.fd.get(), 0) != 0 || kill(pid, file.signal) != 0) return "";
  const absl::Time deadline = absl::Now() + timeout;
  absl::Time changed = absl::Now();
  off_t size = 0;
  while (absl::Now() < deadline && (size == 0 || absl::Now() - changed < kQuiet)) {
    (void)poll(nullptr, 0, static_cast<int>(absl::ToInt64Milliseconds(kLook)));
    const off_t now = SizeOf(file.fd.get());
    if (now != size) changed = absl::Now();
    size = now;
  }
  std::string text(std::min<std::size_t>(static_cast<std::size_t>(size), kMostText), '\0');
  const ssize_t count = pread(file.fd.get(), text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

std::string OutputOf(std::vector<std::string> argv, const StacksOptions& options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  Subprocess::Options start;
  start.argv = std::move(argv);
  start.environment = {"PATH=" + options.path, "LC_ALL=C.UTF-8"};
  start.fds = {{writer.get(), 1}};
  auto child = Subprocess::Start(start);
  writer.reset();
  if (!child.ok()) return "";
  std::string text;
  const absl::Time deadline = absl::Now() + options.native_timeout;
  for (;;) {
    const absl::Duration left = deadline - absl::Now();
    pollfd ready = {reader.get(), POLLIN, 0};
    const bool is_late =
        left <= absl::ZeroDuration() ||
        poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1) == 0;
    if (is_late) break;
    char buffer[8192];
    const ssize_t count = read(reader.get(), buffer, sizeof(buffer));
    if (count <= 0) break;
    if (text.size() < kMostText) text.append(buffer, static_cast<std::size_t>(count));
  }
  // If a debugger is killed, the process that it has stopped continues.
  if (!child->Wait(absl::Milliseconds(100)).ok()) (void)child->Signal(SIGKILL);
  (void)child->Wait(absl::Seconds(5));
  return text;
}

// Keeps only the lines of frames and threads.
std::string FramesIn(std::string_view text) {
  std::string frames;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const bool is_frame =
        line.substr(0, 1) == "#" || line.substr(0, 7) == "Thread " || line.substr(0, 4) == "TID ";
    if (is_frame) absl::StrAppend(&frames, Absl(line), "\n");
  }
  return frames;
}

void AddNativeStacks(const StacksOptions& options, ProcessStacks& stacks) {
  const std::string pid = absl::StrCat(stacks.pid);
  const bool has_eu_stack = FindProgram("eu-stack", options.path, "").ok();
  if (!has_eu_stack && !FindProgram("gdb", options.path, "").ok()) {
    stacks.note = "neither eu-stack (Debian: elfutils) nor gdb is installed: no stacks";
    return;
  }
  stacks.native = FramesIn(
      has_eu_stack ? OutputOf({"eu-stack", "-n", "64", "-p", pid}, options)
                   : OutputOf({"gdb", "-nx", "-batch", "-p", pid, "-ex", "thread apply all bt 64"},
                              options));
  if (stacks.native.empty()) {
    stacks.note =
        "the debugger may not look into it (see ptrace_scope), or it did not answer in time";
  }
}

ProcessStacks StacksOf(pid_t pid, absl::Time deadline, const StacksOptions& options) {
  ProcessStacks stacks;
  stacks.pid = pid;
  stacks.command = FirstLine(ReadProc(ProcPath(pid, "comm")));
  stacks.threads = ThreadsOf(pid);
  if (absl::Now() >= deadline) {
    stacks.note = "there was no time left to ask it";
    return stacks;
  }
  if (const auto file = StacksFileOf(pid)) {
    const absl::Duration left = absl::Ceil(deadline - absl::Now(), absl::Milliseconds(1));
    const absl::Duration timeout = std::min(options.answer_timeout, left);
    stacks.python = PythonStacks(pid, *file, timeout);
    if (!stacks.python.empty()) return stacks;
    stacks.note = absl::StrCat("it did not answer within ", absl::FormatDuration(timeout));
  }
  if (options.native_timeout > absl::ZeroDuration()) AddNativeStacks(options, stacks);
  return stacks;
}

}  // namespace

absl::StatusOr<std::vector<ProcessStacks>> StacksOfTask(pid_t leader, std::string_view mark,
                                                        const StacksOptions& options) {
  if (leader <= 0 || !(mark.empty() ? HasShim(leader) : HasEntry(leader, mark))) {
    return absl::NotFoundError(
        absl::StrCat("process ", leader, " has ended, or is in another container"));
  }
  const absl::Time deadline = absl::Now() + options.total_timeout;
  std::vector<ProcessStacks> stacks;
  for (const pid_t pid : ProcessesOfTask(leader)) {
    if (StateAndParent(ProcPath(pid, "stat")).first == 'Z') continue;
    stacks.push_back(StacksOf(pid, deadline, options));
  }
  return stacks;
}

std::string StacksText(const std::vector<ProcessStacks>& stacks) {
  std::string text;
  for (const ProcessStacks& process : stacks) {
    absl::StrAppend(&text, "process ", process.pid, " (", process.command, ")\n");
    for (const ThreadWait& thread : process.threads) {
      const bool waits = !thread.wait_channel.empty();
      absl::StrAppend(&text, "  thread ", thread.tid, " (", thread.name, ") ",
                      std::string(1, thread.state), waits ? ", waits in the kernel's " : "",
                      thread.wait_channel, "\n");
    }
    std::string_view lines = process.python.empty() ? process.native : process.python;
    while (!lines.empty()) {
      const std::string_view line = lines.substr(0, lines.find('\n'));
      lines.remove_prefix(std::min(line.size() + 1, lines.size()));
      if (!line.empty()) absl::StrAppend(&text, "  ", Absl(line), "\n");
    }
    if (!process.note.empty()) absl::StrAppend(&text, "  ", process.note, "\n");
  }
  return text;
}

std::string StacksTextOfTasks(const std::vector<pid_t>& leaders, std::string_view mark,
                              std::size_t most, const StacksOptions& options) {
  const absl::Time deadline = absl::Now() + options.total_timeout;
  std::string text;
  for (const pid_t leader : leaders) {
    StacksOptions rest = options;
    rest.total_timeout = deadline - absl::Now();
    if (rest.total_timeout <= absl::ZeroDuration() || text.size() >= most) break;
    const auto stacks = StacksOfTask(leader, mark, rest);
    if (stacks.ok()) text += StacksText(*stacks);
  }
  return text.substr(0, most);
}

}  // namespace runtime
