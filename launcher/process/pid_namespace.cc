#include "launcher/process/pid_namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "launcher/process/paused_process.h"
#include "runtime/sanitizer.h"

#if defined(RUNTIME_ADDRESS_SANITIZER)
#include <sanitizer/lsan_interface.h>
#endif

namespace launcher {
namespace {

constexpr std::size_t kStackSize = 64 * 1024;

bool has_entered = false;
#if defined(RUNTIME_THREAD_SANITIZER)
constexpr char kNotWithThreads[] = "not with ThreadSanitizer, which has a thread of its own";
#endif

bool Write(const std::string& path, const std::string& value, std::string* why) {
  const runtime::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.valid() &&
      write(fd.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size())) {
    return true;
  }
  *why = "cannot write " + path + ": " + strerror(errno);
  return false;
}

// Maps our user and group to themselves in the new user namespace of `process`.
bool MapOurselves(const std::string& process, uid_t user, gid_t group, std::string* why) {
  const auto line = [](auto id) { return std::to_string(id) + " " + std::to_string(id) + " 1"; };
  return Write(process + "/setgroups", "deny", why) &&
         Write(process + "/uid_map", line(user), why) &&
         Write(process + "/gid_map", line(group), why);
}

// Creates the namespaces for the processes that we start from now on. If the mapping fails in a new
// user namespace, it can be neither repeated nor undone, so a child tries it first.
bool Unshare(std::string* why) {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWPID) != 0) {
    *why = ProbePidNamespace();
    if (!why->empty()) return false;
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) {
      *why = std::string("cannot make a process namespace: ") + strerror(errno);
      return false;
    }
    has_entered = true;
    if (!MapOurselves("/proc/self", user, group, why)) return false;
  }
  has_entered = true;
  return true;
}

struct First {
  int read_end;
};

// Body of the first process of the namespace. It shares our memory, so it makes only system calls.
// The kernel reaps its orphans, because SIGCHLD is ignored.
__attribute__((no_sanitize("thread", "address"))) int RunFirst(void* argument) {
  const int fd = static_cast<First*>(argument)->read_end;
  if (fd > 0) syscall(SYS_close_range, 0, fd - 1, 0);
  syscall(SYS_close_range, fd + 1, ~0U, 0);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignore, nullptr);
  pollfd end = {fd, 0, 0};
  while (syscall(SYS_ppoll, &end, 1, nullptr, nullptr, 0) <= 0) {
  }
  syscall(SYS_exit, 0);
  return 0;
}

}  // namespace

std::unique_ptr<PidNamespace> PidNamespace::Enter(std::string* why) {
#if defined(RUNTIME_THREAD_SANITIZER)
  *why = kNotWithThreads;
  return nullptr;
#endif
  std::unique_ptr<PidNamespace> space(new PidNamespace);
  int ends[2] = {-1, -1};
  void* stack = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED || pipe2(ends, O_CLOEXEC) != 0) {
    *why = std::string("cannot make the first process of a namespace: ") + strerror(errno);
    if (stack != MAP_FAILED) munmap(stack, kStackSize);
    return nullptr;
  }
  space->stack_ = stack;
  space->read_end_ = runtime::UniqueFd(ends[0]);
  space->write_end_ = runtime::UniqueFd(ends[1]);
  if (!Unshare(why)) return nullptr;
  // The process reads this when it starts; it lies in our memory, at the end of its own stack.
  auto* first = static_cast<First*>(stack);
  first->read_end = ends[0];
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  space->first_ = clone(RunFirst, static_cast<char*>(stack) + kStackSize, CLONE_VM, first);
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (space->first_ > 0) return space;
  *why = std::string("cannot start the first process of a namespace: ") + strerror(error);
  return nullptr;
}

PidNamespace::~PidNamespace() {
  Kill();
  // (The first process may still use its stack while it lives. We do not wait for it: the kernel
  // ends it only after all others in the namespace, and we may be the parent that must reap those.)
  if (IsGone()) FreeStack();
}

void PidNamespace::FreeStack() {
  if (stack_ != nullptr) munmap(std::exchange(stack_, nullptr), kStackSize);
}

void PidNamespace::Kill() {
  if (first_ > 0 && !gone_) kill(first_, SIGKILL);
}

bool PidNamespace::IsGone() {
  if (first_ > 0 && !gone_) gone_ = waitpid(first_, nullptr, __WALL | WNOHANG) == first_;
  if (gone_) FreeStack();
  return first_ <= 0 || gone_;
}

std::string ProbePidNamespace() {
#if defined(RUNTIME_THREAD_SANITIZER)
  return kNotWithThreads;
#endif
  if (const PausedProcess plain(CLONE_NEWPID); plain.pid() > 0) return {};
  const PausedProcess process(CLONE_NEWUSER | CLONE_NEWPID);
  if (process.pid() < 0) return std::string("cannot make a process namespace: ") + strerror(errno);
  std::string why;
  MapOurselves("/proc/" + std::to_string(process.pid()), geteuid(), getegid(), &why);
  return why;
}

}  // namespace launcher

#if defined(RUNTIME_ADDRESS_SANITIZER)
// The leak sanitizer inspects this process from a thread that would start in the namespace, in
// which this process has no pid. That fails and would end the process with an error.
int __lsan_is_turned_off() { return launcher::has_entered ? 1 : 0; }
#endif
