#include "launcher/testing/output/stack_dump.h"

#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <string_view>

#include "absl/debugging/symbolize.h"

namespace launcher::testing {
namespace {

constexpr int kMaxFrames = 64;
constexpr int kFatalSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// The request for the stack of one thread at a time, and its answer. The thread claims the request,
// so that a thread that reacts too late finds that it is no longer requested. If a thread has
// claimed the request and does not answer, `frames` remain in its use for ever, and no further
// thread is asked.
constexpr pid_t kClaimed = -1;
struct Question {
  std::atomic<pid_t> thread{0};
  void* frames[kMaxFrames];
  int count = 0;
  sem_t answered;
};
Question& TheQuestion() {
  static Question* question = [] {
    auto* made = new Question;
    sem_init(&made->answered, 0, 0);
    return made;
  }();
  return *question;
}
std::atomic<void (*)()> termination{nullptr};

// The thread that has received SIGTERM, and its stack. (It cannot be asked for it: it does not
// leave the handler, and the thread sanitizer runs no other handler inside it.)
struct Terminated {
  std::atomic<pid_t> thread{0};
  std::atomic<int> count{0};
  void* frames[kMaxFrames];
};
Terminated terminated;

int DumpSignal() { return SIGRTMIN + 3; }

pid_t ThisThread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

void Say(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// May run in a signal handler, so it allocates no memory.
void SayFrames(int fd, void* const* frames, int count) {
  char name[512], line[640];
  for (int i = 0; i < count; ++i) {
    // (The return address of a call may belong to the next function.)
    const void* address = static_cast<const char*>(frames[i]) - 1;
    if (!absl::Symbolize(address, name, sizeof name)) {
      strncpy(name, "(unknown)", sizeof name);
    }
    const int size = snprintf(line, sizeof line, "    @ %14p  %s\n", frames[i], name);
    if (size > 0) Say(fd, std::string_view(line, static_cast<std::size_t>(size)));
  }
}

void OnDumpSignal(int) {
  const int saved = errno;
  Question& question = TheQuestion();
  pid_t expected = ThisThread();
  if (question.thread.compare_exchange_strong(expected, kClaimed)) {
    question.count = backtrace(question.frames, kMaxFrames);
    sem_post(&question.answered);
  }
  errno = saved;
}

void OnFatalSignal(int signal) {
  const char* name = sigdescr_np(signal);
  Say(STDERR_FILENO, "Fatal signal: ");
  Say(STDERR_FILENO, name != nullptr ? name : "unknown");
  Say(STDERR_FILENO, "\n");
  void* frames[kMaxFrames];
  SayFrames(STDERR_FILENO, frames, backtrace(frames, kMaxFrames));
  // The handler was reset (SA_RESETHAND), so the raised signal kills the process once the handler
  // returns.
  raise(signal);
}

void OnTerminationSignal(int) {
  const int saved = errno;
  pid_t none = 0;
  if (terminated.thread.compare_exchange_strong(none, ThisThread())) {
    terminated.count.store(backtrace(terminated.frames, kMaxFrames));
  }
  if (auto* asked = termination.load()) asked();
  errno = saved;
}

void Handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

// Formats "Thread 77 (worker-0)".
struct Title {
  explicit Title(pid_t thread) {
    char path[64], name[32] = "?";
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
      const ssize_t size = read(fd, name, sizeof name - 1);
      if (size > 0) name[size] = '\0';
      close(fd);
    }
    name[strcspn(name, "\n")] = '\0';
    snprintf(text, sizeof text, "Thread %d (%s)", thread, name);
  }
  char text[64];
};

constexpr int kMaxThreads = 4096;

// Lists all threads of this process except the caller; returns their number.
int OtherThreads(std::array<pid_t, kMaxThreads>* threads) {
  const int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return 0;
  int count = 0;
  alignas(dirent64) char entries[4096];
  for (;;) {
    const long size = syscall(SYS_getdents64, fd, entries, sizeof entries);
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      const pid_t thread = atoi(entry->d_name);
      if (thread <= 0 || thread == ThisThread() || count == kMaxThreads) continue;
      (*threads)[static_cast<std::size_t>(count++)] = thread;
    }
  }
  close(fd);
  return count;
}

// Waits for the answer; returns false after one second.
bool AwaitAnswer(Question& question) {
  timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += 1;
  while (sem_timedwait(&question.answered, &deadline) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

bool Ask(pid_t thread) {
  Question& question = TheQuestion();
  if (question.thread.load() != 0) return false;
  question.thread.store(thread);
  const bool asked = syscall(SYS_tgkill, getpid(), thread, DumpSignal()) == 0;
  if (!asked || !AwaitAnswer(question)) {
    pid_t expected = thread;
    if (question.thread.compare_exchange_strong(expected, 0)) return false;
    if (!AwaitAnswer(question)) return false;
  }
  question.thread.store(0);
  return true;
}

}  // namespace

void ReportFatalSignals() {
  absl::InitializeSymbolizer("/proc/self/exe");
  // The first call of backtrace() loads a library, which a signal handler could not do.
  void* frame;
  backtrace(&frame, 1);
  TheQuestion();
  Handle(DumpSignal(), OnDumpSignal, 0);
  // (After a stack overflow the handler has no stack; the signal then kills the process without a
  // report.)
  for (const int signal : kFatalSignals) {
    struct sigaction old {};
    if (sigaction(signal, nullptr, &old) != 0 || old.sa_handler != SIG_DFL) continue;
    Handle(signal, OnFatalSignal, static_cast<int>(SA_RESETHAND));
  }
}

void OnTermination(void (*asked)()) {
  termination.store(asked);
  Handle(SIGTERM, OnTerminationSignal, 0);
}

// A thread may have been stopped inside malloc() or fopen(), holding their locks, and never
// continue. So nothing here may need such a lock.
void DumpAllStacks(int fd) {
  static std::array<pid_t, kMaxThreads> threads;
  const int others = OtherThreads(&threads);
  for (int i = 0; i < others; ++i) {
    const pid_t thread = threads[static_cast<std::size_t>(i)];
    Say(fd, Title(thread).text);
    if (thread == terminated.thread.load() && terminated.count.load() > 0) {
      Say(fd, ":\n");
      SayFrames(fd, terminated.frames, terminated.count.load());
    } else if (Ask(thread)) {
      Say(fd, ":\n");
      SayFrames(fd, TheQuestion().frames, TheQuestion().count);
    } else {
      Say(fd, " does not tell its stack\n");
    }
  }
  void* frames[kMaxFrames];
  Say(fd, Title(ThisThread()).text);
  Say(fd, ":\n");
  SayFrames(fd, frames, backtrace(frames, kMaxFrames));
}

}  // namespace launcher::testing
