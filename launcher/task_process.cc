#include "launcher/task_process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace launcher {
namespace {

constexpr std::size_t kStackSize = 64 * 1024;
constexpr int kFds = 4;

enum class Step { kNone, kDirectory, kDescriptors, kExec };

// Shared with the child, which runs in our memory until it execs. Everything the child needs is
// made before, so that it only makes system calls.
struct Child {
  const char* program;
  char* const* argv;
  char* const* environment;
  const char* directory;
  const int* fds;
  pid_t parent;
  Step failed = Step::kNone;
  int error = 0;
};

int Fail(Child* child, Step step) {
  child->error = errno;
  child->failed = step;
  _exit(127);
}

int RunChild(void* argument) {
  auto* child = static_cast<Child*>(argument);
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != child->parent) raise(SIGKILL);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
  }
  // First out of the way of 0 to 3, so that no dup2 overwrites one still to be copied.
  int moved[kFds];
  for (int i = 0; i < kFds; ++i) {
    moved[i] = fcntl(child->fds[i], F_DUPFD, kFds);
    if (moved[i] < 0) return Fail(child, Step::kDescriptors);
  }
  for (int i = 0; i < kFds; ++i) {
    if (dup2(moved[i], i) < 0) return Fail(child, Step::kDescriptors);
  }
  syscall(SYS_close_range, kFds, ~0U, 0);
  if (chdir(child->directory) != 0) return Fail(child, Step::kDirectory);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(child->program, child->argv, child->environment);
  return Fail(child, Step::kExec);
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const auto& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::string PathOf(const std::vector<std::string>& environment) {
  for (const auto& entry : environment) {
    if (entry.starts_with("PATH=")) return entry.substr(5);
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

std::string Join(const std::string& directory, const std::string& path) {
  return path.starts_with('/') ? path : directory + "/" + path;
}

// Sets `error` if there is no such program.
std::string FindOnPath(const TaskStart& start, StartError* error) {
  const std::string& name = start.argv[0];
  bool denied = false;
  const auto runs = [&](const std::string& path) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) return false;
    if (access(path.c_str(), X_OK) == 0) return true;
    denied = true;
    return false;
  };
  if (name.find('/') != std::string::npos) {
    const std::string path = Join(start.working_directory, name);
    if (runs(path)) return path;
  } else if (!name.empty()) {
    const std::string search = PathOf(start.environment);
    for (std::size_t at = 0; at <= search.size();) {
      const auto end = std::min(search.find(':', at), search.size());
      const std::string path =
          Join(start.working_directory, search.substr(at, end - at) + "/" + name);
      if (runs(end == at ? Join(start.working_directory, name) : path)) {
        return end == at ? Join(start.working_directory, name) : path;
      }
      at = end + 1;
    }
  }
  *error = {.what = (denied ? "program is not executable: " : "program not found: ") + name,
            .number = denied ? EACCES : ENOENT};
  return {};
}

std::string Describe(const Child& child, const TaskStart& start) {
  const std::string why = strerror(child.error);
  switch (child.failed) {
    case Step::kDirectory:
      return "cannot enter the working directory " + start.working_directory + ": " + why;
    case Step::kDescriptors:
      return "cannot pass descriptors to the program: " + why;
    default:
      return "cannot run " + start.argv[0] + ": " + why;
  }
}

}  // namespace

pid_t StartTask(const TaskStart& start, StartError* error) {
  const auto fail = [&](std::string what, int number) {
    *error = {.what = std::move(what), .number = number};
    return -1;
  };
  const std::string program = FindOnPath(start, error);
  if (program.empty()) return -1;
  const auto argv = Pointers(start.argv);
  const auto environment = Pointers(start.environment);
  Child child{.program = program.c_str(),
              .argv = argv.data(),
              .environment = environment.data(),
              .directory = start.working_directory.c_str(),
              .fds = start.fds,
              .parent = getpid()};
  void* stack = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) {
    return fail(std::string("cannot start the program: ") + strerror(errno), errno);
  }
  // A signal handler must not run in the child while it shares our memory.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t pid = clone(RunChild, static_cast<char*>(stack) + kStackSize,
                          CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
  const int clone_error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  munmap(stack, kStackSize);
  if (pid < 0) {
    return fail(std::string("cannot start the program: ") + strerror(clone_error), clone_error);
  }
  // (The child is reaped with the rest.)
  if (child.failed != Step::kNone) return fail(Describe(child, start), child.error);
  return pid;
}

}  // namespace launcher
