#include "launcher/shim/task_process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace launcher {
namespace {

constexpr std::size_t kStackSize = 64 * 1024;
constexpr std::uint64_t kIntoCgroup = 0x200000000;  // CLONE_INTO_CGROUP.

constexpr int kMaxCpus = 8192;

enum class Step { kNone, kCgroup, kDirectory, kDescriptors, kLimit, kExec };

struct Passed {
  int as;     // The number in the task; sorted.
  int fd;     // The number in this process.
  int moved;  // A copy whose number is above all numbers of the task.
};

// Shared with the child, which runs in our memory until it calls exec. Everything that it needs is
// prepared before, so that it makes only system calls.
struct Child {
  const char* program;
  char* const* argv;
  char* const* environment;
  const char* directory;
  std::vector<Passed> fds;
  std::vector<std::pair<int, rlimit>> limits;
  const CallersProcess* caller;
  std::vector<std::pair<int, rlimit>> callers_limits;
  // In the format of sched_setaffinity(2); empty to keep ours.
  std::vector<unsigned long> callers_cpus;
  // To be entered by writing to its cgroup.procs; -1 for none.
  int cgroup = -1;
  const std::vector<int>* cgroup_entries;
  pid_t parent;
  Step failed = Step::kNone;
  int error = 0;
  std::size_t index = 0;  // Index of the limit that failed.
};

int Fail(Child* child, Step step) {
  child->error = errno;
  child->failed = step;
  _exit(127);
}

bool EnterCgroups(const Child* child) {
  if (child->cgroup >= 0) {
    const int entry = openat(child->cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (entry < 0 || write(entry, "0", 1) != 1) return false;
    close(entry);
  }
  for (const int entry : *child->cgroup_entries) {
    if (write(entry, "0", 1) != 1) return false;
  }
  return true;
}

bool PassDescriptors(Child* child) {
  const int above = child->fds.back().as + 1;
  for (Passed& passed : child->fds) {
    passed.moved = fcntl(passed.fd, F_DUPFD, above);
    if (passed.moved < 0) return false;
  }
  int next = 0;
  for (const Passed& passed : child->fds) {
    if (dup2(passed.moved, passed.as) < 0) return false;
    if (passed.as > next) syscall(SYS_close_range, next, passed.as - 1, 0);
    next = passed.as + 1;
  }
  syscall(SYS_close_range, next, ~0U, 0);
  return true;
}

bool SetLimits(Child* child) {
  for (; child->index < child->limits.size(); ++child->index) {
    const auto& [resource, limit] = child->limits[child->index];
    if (setrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return false;
  }
  return true;
}

// Takes over the properties of the job's caller, as far as the kernel permits.
void BeLikeCaller(const Child* child) {
  if (!child->caller->is_known) return;
  umask(static_cast<mode_t>(child->caller->umask & 0777));
  setpriority(PRIO_PROCESS, 0, child->caller->nice);
  if (!child->callers_cpus.empty()) {
    sched_setaffinity(0, child->callers_cpus.size() * sizeof(unsigned long),
                      reinterpret_cast<const cpu_set_t*>(child->callers_cpus.data()));
  }
  for (const auto& [number, wanted] : child->callers_limits) {
    const auto resource = static_cast<__rlimit_resource>(number);
    rlimit own = {};
    if (setrlimit(resource, &wanted) == 0 || getrlimit(resource, &own) != 0) continue;
    own.rlim_max = std::min(own.rlim_max, wanted.rlim_max);
    own.rlim_cur = std::min(own.rlim_max, wanted.rlim_cur);
    setrlimit(resource, &own);
  }
}

int RunChild(void* argument) {
  auto* child = static_cast<Child*>(argument);
  if (!EnterCgroups(child)) return Fail(child, Step::kCgroup);
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != child->parent) raise(SIGKILL);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
  }
  if (!PassDescriptors(child)) return Fail(child, Step::kDescriptors);
  if (chdir(child->directory) != 0) return Fail(child, Step::kDirectory);
  BeLikeCaller(child);
  if (!SetLimits(child)) return Fail(child, Step::kLimit);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(child->program, child->argv, child->environment);
  return Fail(child, Step::kExec);
}

#ifdef __x86_64__
// Calls clone3(2) for a child that shares our memory, has its own stack, and starts inside a
// control group. (The C library has no wrapper for it.) Returns the pid, or the negative errno.
long CloneInto(int cgroup, void* stack, Child* child) {
  struct {
    std::uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    std::uint64_t set_tid, set_tid_size, cgroup;
  } arguments = {};
  arguments.flags = CLONE_VM | CLONE_VFORK | kIntoCgroup;
  arguments.exit_signal = SIGCHLD;
  arguments.stack = reinterpret_cast<std::uint64_t>(stack);
  arguments.stack_size = kStackSize;
  arguments.cgroup = static_cast<std::uint64_t>(cgroup);
  long result = SYS_clone3;
  int (*function)(void*) = RunChild;
  // The child does not return from RunChild().
  __asm__ volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xorl %%ebp, %%ebp\n\t"
      "movq %%rbx, %%rdi\n\t"
      "callq *%%rdx\n\t"
      "hlt\n"
      "1:"
      : "+a"(result)
      : "D"(&arguments), "S"(sizeof arguments), "d"(function), "b"(child)
      : "rcx", "r11", "cc", "memory");
  return result;
}
#else
long CloneInto(int, void*, Child*) { return -ENOSYS; }
#endif

// Starts the child. Returns its pid, or -1 with errno set.
pid_t Clone(int cgroup, void* stack, Child* child) {
  if (cgroup >= 0) {
    const long pid = CloneInto(cgroup, stack, child);
    if (pid >= 0) return static_cast<pid_t>(pid);
    // These errors mean that the kernel or a seccomp filter does not support the call; all others
    // mean that the control group refuses the process.
    if (pid != -ENOSYS && pid != -EINVAL && pid != -E2BIG && pid != -EPERM) {
      child->failed = Step::kCgroup;
      errno = static_cast<int>(-pid);
      return -1;
    }
    child->cgroup = cgroup;
  }
  return clone(RunChild, static_cast<char*>(stack) + kStackSize, CLONE_VM | CLONE_VFORK | SIGCHLD,
               child);
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const auto& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Returns the CPU mask for a list like "0-3,8"; empty if `cpus` is not such a list.
std::vector<unsigned long> MaskOf(const std::string& cpus) {
  constexpr int kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask;
  const char* at = cpus.c_str();
  while (*at >= '0' && *at <= '9') {
    char* end = nullptr;
    const long first = strtol(at, &end, 10);
    const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
    if (first < 0 || last >= kMaxCpus) return {};
    for (long cpu = first; cpu <= last; ++cpu) {
      mask.resize(std::max(mask.size(), static_cast<std::size_t>(cpu / kBits) + 1));
      mask[static_cast<std::size_t>(cpu / kBits)] |= 1ul << (cpu % kBits);
    }
    at = *end == ',' ? end + 1 : end;
  }
  return *at == '\0' ? mask : std::vector<unsigned long>();
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

// Returns the path of the program; sets `error` if it is not found.
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

// Names the interpreter of a program. The kernel reports "No such file or directory" for an
// existing program if its interpreter or loader is missing.
std::string MissingInterpreter(const char* program) {
  std::string line(512, '\0');
  const int fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const ssize_t size = fd < 0 ? 0 : read(fd, line.data(), line.size());
  if (fd >= 0) close(fd);
  line.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  line.resize(std::min(line.size(), line.find('\n')));
  const auto begin = line.find_first_not_of(" \t", 2);
  if (!line.starts_with("#!") || begin == std::string::npos) return "its interpreter";
  std::string name = line.substr(begin, line.find_first_of(" \t", begin) - begin);
  const bool of_windows = name.ends_with('\r');
  if (of_windows) name.pop_back();
  return "its interpreter " + name +
         (of_windows ? " and a carriage return (its lines end as on Windows)" : "");
}

std::string DescribeExec(const Child& child, const TaskStart& start) {
  const std::string what = "cannot run " + start.argv[0] + ": ";
  if (child.error == ENOENT && access(child.program, F_OK) == 0) {
    return what + MissingInterpreter(child.program) + " does not exist";
  }
  return what + strerror(child.error);
}

std::string NoDirectory(const std::string& directory, int error) {
  return "cannot enter the working directory " + directory + ": " + strerror(error);
}

std::string Describe(const Child& child, const TaskStart& start) {
  const std::string why = strerror(child.error);
  switch (child.failed) {
    case Step::kCgroup:
      return "cannot start the program in its control group: " + why;
    case Step::kLimit:
      return "cannot set the limit " + start.limits[child.index].ToString() + ": " + why;
    case Step::kDirectory:
      return NoDirectory(start.working_directory, child.error);
    case Step::kDescriptors:
      return "cannot pass descriptors to the program: " + why;
    default:
      return DescribeExec(child, start);
  }
}

}  // namespace

pid_t StartTask(const TaskStart& start, StartError* error) {
  const auto fail = [&](std::string what, int number) {
    *error = {.what = std::move(what), .number = number};
    return -1;
  };
  // The working directory is checked first, since the program may be relative to it.
  if (access((start.working_directory + "/.").c_str(), X_OK) != 0) {
    const int number = errno;
    return fail(NoDirectory(start.working_directory, number), number);
  }
  const std::string program = FindOnPath(start, error);
  if (program.empty()) return -1;
  const auto argv = Pointers(start.argv);
  const auto environment = Pointers(start.environment);
  Child child{.program = program.c_str(),
              .argv = argv.data(),
              .environment = environment.data(),
              .directory = start.working_directory.c_str(),
              .fds = {},
              .limits = {},
              .caller = &start.caller,
              .callers_limits = {},
              .callers_cpus = MaskOf(start.caller.cpus),
              .cgroup_entries = &start.cgroup_entries,
              // The shim has no pid in the namespace.
              .parent = start.in_namespace ? 0 : getpid()};
  for (const auto& [as, fd] : start.fds) child.fds.push_back({as, fd, -1});
  for (int as = TaskStart::kFirstLock; const int fd : start.locks) {
    child.fds.push_back({as++, fd, -1});
  }
  for (const ProcessLimit& limit : start.limits) {
    if (limit.resource() < 0) return fail("unknown limit: " + limit.name, EINVAL);
    child.limits.push_back({limit.resource(), {limit.soft, limit.hard}});
  }
  for (const ProcessLimit& limit : start.caller.limits) {
    if (limit.resource() < 0) continue;  // A limit that only a newer launcher knows.
    child.callers_limits.push_back({limit.resource(), {limit.soft, limit.hard}});
  }
  void* stack = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) {
    return fail(std::string("cannot start the program: ") + strerror(errno), errno);
  }
  // A signal handler must not run in the child while it shares our memory.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t pid = Clone(start.cgroup, stack, &child);
  if (pid < 0) child.error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  munmap(stack, kStackSize);
  // (A child that failed is reaped with the rest.)
  if (child.failed != Step::kNone) {
    fail(Describe(child, start), child.error);
    error->of_cgroup = child.failed == Step::kCgroup;
    return -1;
  }
  if (pid >= 0) return pid;
  return fail(std::string("cannot start the program: ") + strerror(child.error), child.error);
}

}  // namespace launcher
