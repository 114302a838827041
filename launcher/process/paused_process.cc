#include "launcher/process/paused_process.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>

namespace launcher {
namespace {

constexpr std::size_t kStackSize = 64 * 1024;

// Body of the process. It shares our memory, so it makes only system calls. (All signals are
// blocked.)
__attribute__((no_sanitize("thread", "address"))) int Pause(void*) {
  syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  syscall(SYS_close_range, 0, ~0U, 0);
  for (;;) syscall(SYS_ppoll, nullptr, 0, nullptr, nullptr, 0);
}

}  // namespace

PausedProcess::PausedProcess(int namespaces) {
  void* stack = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return;
  stack_ = stack;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pid_ = clone(Pause, static_cast<char*>(stack) + kStackSize, CLONE_VM | namespaces, nullptr);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
}

PausedProcess::~PausedProcess() {
  if (pid_ > 0 && !ended_) {
    kill(pid_, SIGKILL);
    ended_ = waitpid(pid_, nullptr, __WALL) == pid_;
  }
  if (stack_ != nullptr && (ended_ || pid_ < 0)) munmap(stack_, kStackSize);
}

bool PausedProcess::AwaitEnd(int milliseconds) {
  for (int i = 0; pid_ > 0 && !ended_ && i <= milliseconds; ++i) {
    ended_ = waitpid(pid_, nullptr, __WALL | WNOHANG) == pid_;
    const timespec round = {0, 1'000'000};
    if (!ended_) nanosleep(&round, nullptr);
  }
  return ended_;
}

}  // namespace launcher
