#ifndef BUS_THREAD_BUS_THREAD_H_
#define BUS_THREAD_BUS_THREAD_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/thread/descriptor_watches.h"
#include "bus/thread/socket.h"
#include "runtime/clock.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"
#include "runtime/timer.h"

namespace bus {

// The one thread of a process that touches ZeroMQ sockets; woken by an eventfd.
//
// It waits as zmq_poll does, with fewer system calls. ZeroMQ tells by a descriptor that something
// about a socket may have changed, and takes that back when the socket is used; so a socket is
// looked at (ZMQ_EVENTS) whenever its descriptor is readable and whenever it may have been used,
// and only when no look finds anything does the thread wait for the descriptors.
class BusThread {
 public:
  using TimerId = std::uint64_t;  // 0 is never a timer.
  using WatchId = std::uint64_t;  // 0 is never a watch.

  static absl::StatusOr<std::unique_ptr<BusThread>> Create(runtime::Clock* clock);
  ~BusThread();  // Functions posted before still run.
  BusThread(const BusThread&) = delete;
  BusThread& operator=(const BusThread&) = delete;

  // Any thread. Functions run in the order of posting.
  void Post(std::function<void()> function);
  // Runs `function` on the bus thread and waits for its end (at once if this is that thread).
  void Run(const std::function<void()>& function);
  bool InThread() const;

  // On the bus thread only.
  const SocketContext& context() const { return *context_; }
  TimerId RunAfter(absl::Duration delay, std::function<void()> function);
  void Cancel(TimerId timer);
  // Calls `readable` while `socket` (a ZeroMQ handle) has something to read. kReadable: nothing
  // but `readable` ever uses the socket, so it need not be looked at after other functions.
  enum class UsedBy { kAnything, kReadable };
  WatchId Watch(void* socket, std::function<void()> readable, UsedBy used_by = UsedBy::kAnything);
  void Unwatch(WatchId watch);
  // For a callback whose last use of its socket was to receive and find nothing: saves a look.
  void Drained(WatchId watch);
  // Descriptors that are no ZeroMQ sockets. Errors: the system has no descriptor for it.
  absl::StatusOr<DescriptorWatches*> Descriptors();

  // Sequence numbers of (this process, topic), from 1. With very many topics the counting is
  // forgotten and goes on above all numbers used: a subscriber sees a gap, never a repetition.
  std::uint64_t NextSequence(const std::string& topic);
  // Shared by all Publishers of the process, so that a topic has one order.
  std::weak_ptr<void> publisher;

 private:
  struct Timer {
    TimerId id;
    std::function<void()> function;
  };
  struct Watched {
    void* socket;
    std::function<void()> readable;
    UsedBy used_by;
    bool look = true;  // It may have been used since it was looked at.
  };
  BusThread(runtime::Clock* clock, std::unique_ptr<SocketContext> context, runtime::UniqueFd wake);
  void Loop();
  void RunPosted();
  void RunTimers();
  void Poll();
  void Wait();
  // Looks at the sockets that need it, and runs the callbacks of those with something to read.
  // False if no socket has anything to read.
  bool RunReadable();
  void RunDescriptors();
  // Any function may have used any socket.
  void LookAgain();
  void Wake();
  // Milliseconds until the next timer; -1: none.
  long TimeUntilTimer() const;

  runtime::Clock* const clock_;
  const std::unique_ptr<SocketContext> context_;
  const runtime::UniqueFd wake_;
  std::atomic<bool> stop_{false};

  runtime::Mutex mutex_;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;

  // The bus thread's own.
  struct PollSet;
  std::unique_ptr<PollSet> poll_set_;
  std::map<WatchId, Watched> watches_;
  std::unique_ptr<DescriptorWatches> descriptors_;  // Null: nobody has asked for it.
  bool watches_changed_ = true;
  std::multimap<absl::Duration, Timer> timers_;
  std::unordered_map<TimerId, std::multimap<absl::Duration, Timer>::iterator> timer_index_;
  std::uint64_t last_id_ = 0;
  std::unordered_map<std::string, std::uint64_t> sequences_;
  std::uint64_t sequence_floor_ = 0;
  std::uint64_t sequence_max_ = 0;

  std::unique_ptr<runtime::Thread> thread_;
};

// A timer of an object of the bus thread.
using BusTimer = runtime::LoopTimer<BusThread>;

}  // namespace bus

#endif  // BUS_THREAD_BUS_THREAD_H_
