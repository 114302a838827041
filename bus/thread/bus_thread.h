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

// The only thread of a process that uses ZeroMQ sockets; an eventfd wakes it.
//
// It waits like zmq_poll, but with fewer system calls. A socket's descriptor becomes readable when
// the socket's state may have changed, and any use of the socket resets it. The thread therefore
// checks a socket (ZMQ_EVENTS) when its descriptor is readable and after every function that may
// have used the socket, and waits for the descriptors only when no check finds input.
class BusThread {
 public:
  using TimerId = std::uint64_t;  // 0 is never a valid timer.
  using WatchId = std::uint64_t;  // 0 is never a valid watch.

  static absl::StatusOr<std::unique_ptr<BusThread>> Create(runtime::Clock* clock);
  ~BusThread();  // Functions that were posted before still run.
  BusThread(const BusThread&) = delete;
  BusThread& operator=(const BusThread&) = delete;

  // Any thread. Functions run in the order of their posting.
  void Post(std::function<void()> function);
  // Runs `function` on the bus thread and waits for its end (on the bus thread: calls it directly).
  void Run(const std::function<void()>& function);
  bool InThread() const;

  // Everything below may be used on the bus thread only.
  const SocketContext& context() const { return *context_; }
  TimerId RunAfter(absl::Duration delay, std::function<void()> function);
  void Cancel(TimerId timer);
  // Calls `readable` while `socket` (a ZeroMQ handle) has input. kReadable promises that only
  // `readable` uses the socket, so that it need not be checked after other functions.
  enum class UsedBy { kAnything, kReadable };
  WatchId Watch(void* socket, std::function<void()> readable, UsedBy used_by = UsedBy::kAnything);
  void Unwatch(WatchId watch);
  // Reports that the callback's last receive from its socket found nothing, which saves a check.
  void Drained(WatchId watch);
  // Returns the watches for descriptors that are not ZeroMQ sockets. Fails if the process is out of
  // descriptors.
  absl::StatusOr<DescriptorWatches*> Descriptors();

  // Returns the next sequence number of (this process, topic); the first is 1. With too many topics
  // the counters are dropped, and all topics continue above every number used: a subscriber sees a
  // gap, never a repetition.
  std::uint64_t NextSequence(const std::string& topic);
  // Shared by all Publishers of the process, so that each topic has one order.
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
    bool look = true;  // The socket may have been used since its last check.
  };
  BusThread(runtime::Clock* clock, std::unique_ptr<SocketContext> context, runtime::UniqueFd wake);
  void Loop();
  void RunPosted();
  void RunTimers();
  void Poll();
  void Wait();
  // Checks the sockets that need it, and runs the callbacks of those with input. Returns false if
  // no socket has input.
  bool RunReadable();
  void RunDescriptors();
  // Marks all sockets for a check, since any function may have used any socket.
  void LookAgain();
  void Wake();
  // Milliseconds until the next timer; -1: no timer.
  long TimeUntilTimer() const;

  runtime::Clock* const clock_;
  const std::unique_ptr<SocketContext> context_;
  const runtime::UniqueFd wake_;
  std::atomic<bool> stop_{false};

  runtime::Mutex mutex_;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;

  // Bus thread only.
  struct PollSet;
  std::unique_ptr<PollSet> poll_set_;
  std::map<WatchId, Watched> watches_;
  std::unique_ptr<DescriptorWatches> descriptors_;  // Null until Descriptors() is called.
  bool watches_changed_ = true;
  std::multimap<absl::Duration, Timer> timers_;
  std::unordered_map<TimerId, std::multimap<absl::Duration, Timer>::iterator> timer_index_;
  std::uint64_t last_id_ = 0;
  std::unordered_map<std::string, std::uint64_t> sequences_;
  std::uint64_t sequence_floor_ = 0;
  std::uint64_t sequence_max_ = 0;

  std::unique_ptr<runtime::Thread> thread_;
};

// A timer that belongs to an object of the bus thread.
using BusTimer = runtime::LoopTimer<BusThread>;

}  // namespace bus

#endif  // BUS_THREAD_BUS_THREAD_H_
