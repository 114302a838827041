#include "launcher/testing/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "launcher/testing/call/child_message.h"
#include "launcher/testing/call/function.h"
#include "launcher/testing/objects/object_calls.h"
#include "launcher/testing/output/stack_dump.h"
#include "launcher/testing/spec/cluster_spec.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

#if defined(__SANITIZE_THREAD__)
// Without this, every child would wait for a second at its exit for reports of other threads.
extern "C" const char* __tsan_default_options() { return "atexit_sleep_ms=0"; }
#endif

namespace launcher::testing {
namespace {

constexpr int kTerminatedExit = 1;  // As in the original.
constexpr int kFailedExit = 1;
constexpr int kNoOrderExit = 70;
// Time for the parent to send the order after the start of the child.
constexpr int kOrderMillis = 60'000;

std::optional<ThisTask>& Self() {
  static auto* self = new std::optional<ThisTask>;
  return *self;
}

// The handler of SIGTERM writes to this descriptor.
int termination_fd = -1;

// Stops the thread that has received the signal, so that its function cannot return before the
// stacks are written.
void AskForStacks() {
  const std::uint64_t one = 1;
  if (write(termination_fd, &one, sizeof one) < 0) return;
  for (;;) poll(nullptr, 0, -1);
}

// Returns the inode of an open file; 0 if the descriptor is not open.
ino_t InodeOf(int fd) {
  struct stat status = {};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

// The socket to the parent, and the thread that reads it. Never deleted.
class ParentLink {
 public:
  explicit ParentLink(int fd) : fd_(fd), inode_(InodeOf(fd)) {}

  // Reads the first message; call it before Listen().
  std::optional<StartOrder> ReadOrder() {
    absl::Status error;
    for (;;) {
      if (const auto message = reader_.Next(&error)) {
        if (message->kind != Message::Kind::kStart) return std::nullopt;
        return Decode<StartOrder>(message->content);
      }
      pollfd ready = {.fd = fd_, .events = POLLIN, .revents = 0};
      if (poll(&ready, 1, kOrderMillis) <= 0 || !error.ok() || !Read()) return std::nullopt;
    }
  }

  void Listen(bool daemon) {
    daemon_ = daemon;
    // (The thread blocks all signals, so that it handles none that other threads have blocked.)
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = new runtime::Thread("parent-link", [this] { Run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  // Sends a message. Returns false if that fails: the program may have closed our end, and its
  // number may be another file.
  bool Send(Message::Kind kind, std::uint64_t number, std::string content) {
    const std::string frame = Frame({kind, number, std::move(content)});
    runtime::MutexLock lock(send_mutex_);
    if (InodeOf(fd_) != inode_) return false;
    std::string_view rest = frame;
    while (!rest.empty()) {
      const ssize_t sent = send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  void Ask(const ObjectRequest& request, const ObjectDone& done) {
    std::uint64_t number = 0;
    {
      runtime::MutexLock lock(mutex_);
      if (!closed_) {
        number = ++last_request_;
        asked_.emplace(number, done);
      }
    }
    if (number == 0) return done(Gone());
    (void)Send(Message::Kind::kRequest, number, Encode(request));
  }

  // Waits for the next call of a pool's worker; nullopt once there will be no more.
  std::optional<std::pair<std::uint64_t, CallOrder>> NextCall() {
    runtime::MutexLock lock(mutex_);
    while (calls_.empty() && !closed_ && !ended_) changed_.Wait(mutex_);
    if (calls_.empty()) return std::nullopt;
    auto call = std::move(calls_.front());
    calls_.pop_front();
    return call;
  }

 private:
  static ObjectReply Gone() {
    ObjectReply reply;
    reply.status = absl::UnavailableError("the process that has the shared object has ended");
    return reply;
  }

  bool Read() {
    char chunk[65536];
    const ssize_t got = recv(fd_, chunk, sizeof chunk, 0);
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    reader_.Add(std::string_view(chunk, static_cast<std::size_t>(got)));
    return true;
  }

  void Run() {
    absl::Status error;
    // The program may close either descriptor at any time.
    pollfd fds[2] = {{.fd = termination_fd, .events = POLLIN, .revents = 0},
                     {.fd = fd_, .events = POLLIN, .revents = 0}};
    for (;;) {
      while (const auto message = reader_.Next(&error)) Handle(*message);
      if (poll(fds, 2, -1) < 0) continue;
      if ((fds[0].revents & POLLIN) != 0) Die();
      if (fds[0].revents != 0) fds[0].fd = -1;
      const bool is_ours = (fds[1].revents & POLLNVAL) == 0;
      if (fds[1].revents == 0 || (is_ours && error.ok() && Read())) continue;
      fds[1].fd = -1;
      Close(is_ours);
    }
  }

  void Handle(const Message& message) {
    if (message.kind == Message::Kind::kTerminate) {
      (void)Send(Message::Kind::kResult, 0, Encode(CallResult{}));
      _exit(kTerminatedExit);
    }
    if (message.kind == Message::Kind::kCall) {
      if (auto call = Decode<CallOrder>(message.content)) {
        runtime::MutexLock lock(mutex_);
        calls_.emplace_back(message.number, *std::move(call));
        changed_.SignalAll();
      }
    }
    if (message.kind == Message::Kind::kEnd) {
      runtime::MutexLock lock(mutex_);
      ended_ = true;
      changed_.SignalAll();
    }
    if (message.kind == Message::Kind::kReply) {
      ObjectDone done;
      {
        runtime::MutexLock lock(mutex_);
        const auto found = asked_.find(message.number);
        if (found == asked_.end()) return;
        done = std::move(found->second);
        asked_.erase(found);
      }
      auto reply = Decode<ObjectReply>(message.content);
      if (reply) done(*std::move(reply));
    }
  }

  // Called when the parent has ended or closed the socket, or can no longer be read.
  void Close(bool parent_is_gone) {
    if (daemon_ && parent_is_gone) {
      kill(-getpid(), SIGKILL);
      kill(getpid(), SIGKILL);
    }
    std::map<std::uint64_t, ObjectDone> asked;
    {
      runtime::MutexLock lock(mutex_);
      closed_ = true;
      asked.swap(asked_);
      changed_.SignalAll();
    }
    for (const auto& [number, done] : asked) done(Gone());
  }

  // Ends this process by the SIGTERM that it has received.
  [[noreturn]] void Die() {
    dprintf(STDERR_FILENO, "Terminated. The stacks of all threads:\n");
    DumpAllStacks(STDERR_FILENO);
    signal(SIGTERM, SIG_DFL);
    sigset_t termination;
    sigemptyset(&termination);
    sigaddset(&termination, SIGTERM);
    pthread_sigmask(SIG_UNBLOCK, &termination, nullptr);
    raise(SIGTERM);
    _exit(128 + SIGTERM);
  }

  const int fd_;
  const ino_t inode_;
  bool daemon_ = false;
  MessageReader reader_;  // Used only by the thread, once it runs.
  runtime::Thread* thread_ = nullptr;

  runtime::Mutex send_mutex_;
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // The parent has sent kEnd.
  std::uint64_t last_request_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, ObjectDone> asked_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::pair<std::uint64_t, CallOrder>> calls_ ABSL_GUARDED_BY(mutex_);
};

// Returns the socket in the environment, if its inode is the right one; else -1.
int SocketOfParent() {
  const char* value = getenv(kChildVariable);
  if (value == nullptr) return -1;
  char* end = nullptr;
  const long fd = strtol(value, &end, 10);
  struct stat status = {};
  const bool is_it = *end == ':' && fstat(static_cast<int>(fd), &status) == 0 &&
                     S_ISSOCK(status.st_mode) && strtoull(end + 1, nullptr, 10) == status.st_ino;
  unsetenv(kChildVariable);
  return is_it ? static_cast<int>(fd) : -1;
}

// Number of assertions already seen: GoogleTest keeps failed assertions outside of tests in one
// growing list.
int assertions_seen = 0;

absl::Status FailedAssertions() {
  const ::testing::TestResult& all = ::testing::UnitTest::GetInstance()->ad_hoc_test_result();
  std::string first;
  int failed = 0;
  for (; assertions_seen < all.total_part_count(); ++assertions_seen) {
    const ::testing::TestPartResult& part = all.GetTestPartResult(assertions_seen);
    if (!part.failed()) continue;
    if (++failed > 1) continue;
    first = absl::StrCat(part.file_name() == nullptr ? "?" : part.file_name(), ":",
                         part.line_number(), ": ", part.message());
  }
  if (failed == 0) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(failed, " failed assertions, the first one at ", first));
}

Returned CallAndCheck(const std::string& function, const std::string& arguments) {
  Returned returned = CallHere(function, arguments);
  if (absl::Status failed = FailedAssertions(); returned.status.ok() && !failed.ok()) {
    returned = {std::move(failed)};
  }
  const std::size_t size =
      returned.status.message().size() + (returned.value ? returned.value->bytes.size() : 0);
  if (size > kMaxContent) {
    returned = {absl::ResourceExhaustedError(
        absl::StrCat("the result has ", size, " bytes, more than ", kMaxContent))};
  }
  if (!returned.status.ok()) {
    fflush(stdout);
    fprintf(stderr, "%s failed: %s\n", function.c_str(), returned.status.ToString().c_str());
  }
  fflush(nullptr);
  return returned;
}

// Sends the function's result. If that fails, the exit code says that the result was lost.
void SendResult(ParentLink* link, std::uint64_t number, Returned returned) {
  const bool sent =
      link->Send(Message::Kind::kResult, number,
                 Encode(CallResult{std::move(returned.status), std::move(returned.value)}));
  if (!sent) _exit(kLostResultExit);
}

int DoWork(ParentLink* link, const StartOrder& order) {
  if (!order.function.empty()) {
    Returned returned = CallAndCheck(order.function, order.arguments);
    const bool failed = !returned.status.ok();
    if (failed || !order.is_worker) SendResult(link, 0, std::move(returned));
    if (failed) return kFailedExit;
  }
  if (!order.is_worker) return 0;
  while (const auto call = link->NextCall()) {
    SendResult(link, call->first, CallAndCheck(call->second.function, call->second.arguments));
  }
  return 0;
}

void SayStart(const StartOrder& order) {
  const char* tf_config = getenv("TF_CONFIG");
  fprintf(stderr, "Process %d runs %s, TF_CONFIG=%s\n", getpid(),
          TaskName(order.type, order.index).c_str(), tf_config == nullptr ? "" : tf_config);
}

}  // namespace

std::optional<ThisTask> TaskOfThisProcess() { return Self(); }

void RunIfChild() {
  const int fd = SocketOfParent();
  if (fd < 0) return;
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  auto* const link = new ParentLink(fd);
  const auto order = link->ReadOrder();
  if (!order) _exit(kNoOrderExit);
  Self() = ThisTask{order->type, order->index};
  prctl(PR_SET_NAME, TaskName(order->type, order->index).c_str());
  setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  termination_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  ReportFatalSignals();
  OnTermination(AskForStacks);
  SetObjectUpstream(
      [link](const ObjectRequest& request, const ObjectDone& done) { link->Ask(request, done); });
  link->Listen(order->daemon);
  SayStart(*order);
  exit(DoWork(link, *order));
}

}  // namespace launcher::testing
