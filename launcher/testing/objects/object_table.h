#ifndef LAUNCHER_TESTING_OBJECTS_OBJECT_TABLE_H_
#define LAUNCHER_TESTING_OBJECTS_OBJECT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "launcher/testing/call/child_message.h"

namespace launcher::testing {

// The objects that the processes of a test share: their state, and the requests that wait for them.
// Has no clock: the caller passes `now`, and the same calls give the same answers. Replaces the
// manager of the original, a process that provides proxies of Python objects.
//
// Waiting requests are served in the order of their arrival. Not thread-safe.
class ObjectTable {
 public:
  static constexpr std::size_t kMaxObjects = 10'000;
  static constexpr std::size_t kMaxWaiting = 10'000;
  // Limit of the content of one queue or one key/value object.
  static constexpr std::size_t kMaxBytes = kMaxContent;

  using Ticket = std::uint64_t;  // The caller's number of a request.
  struct Answer {
    Ticket ticket = 0;
    ObjectReply reply;
  };

  // Handles a request of the process `client`, and returns all answers that are now possible,
  // including those to other requests. NotFound for an object that does not exist (any more),
  // InvalidArgument for an operation that the object does not have, FailedPrecondition for the
  // release of a lock that is not held, ResourceExhausted at the limits. A request that waits is
  // answered later; with DeadlineExceeded after its time-out (zero does not wait).
  std::vector<Answer> Handle(std::uint64_t client, Ticket ticket, const ObjectRequest& request,
                             absl::Duration now);
  // Answers the requests that have timed out.
  std::vector<Answer> Expire(absl::Duration now);
  absl::Duration NextTimeout() const;  // Returns the time at which Expire() has something to do.

  // A process has ended. Its waiting requests are dropped; a lock that it holds goes to the next
  // waiting process, which gets `name`; units of a semaphore that it has acquired and not released
  // are returned; a barrier at which it waits is broken.
  std::vector<Answer> ClientGone(std::uint64_t client, const std::string& name);

 private:
  using Operation = ObjectRequest::Operation;
  struct Waiting {
    std::uint64_t client = 0;
    Ticket ticket = 0;
    ObjectRequest request;
    absl::Duration until;
  };
  struct Object {
    Operation kind = Operation::kMakeEvent;
    std::int64_t number = 0;  // Event: 1 if set; lock: 1 if free; semaphore: units; counter: value;
                              // queue: limit of items, 0 for no limit; barrier: number of parties.
    std::map<std::uint64_t, std::int64_t> held = {};  // Lock, semaphore: units held, by client.
    // Lock: name of the process that died while holding it.
    std::string dead_holder = {};
    std::deque<std::string> items = {};
    std::map<std::string, std::string> pairs = {};
    std::size_t bytes = 0;
    std::string broken = {};  // Barrier: why it is broken.
    std::list<Waiting> waiting = {};
  };

  ObjectReply Make(const ObjectRequest& request);
  // Tries to carry out a request now; returns true, with `reply` set, if it need not wait.
  bool Try(Object& object, std::uint64_t client, const ObjectRequest& request, ObjectReply* reply);
  bool TryEvent(Object& object, const ObjectRequest& request, ObjectReply* reply);
  bool TryLock(Object& object, std::uint64_t client, const ObjectRequest& request,
               ObjectReply* reply);
  bool TrySemaphore(Object& object, std::uint64_t client, const ObjectRequest& request,
                    ObjectReply* reply);
  bool TryCounter(Object& object, const ObjectRequest& request, ObjectReply* reply);
  bool TryQueue(Object& object, const ObjectRequest& request, ObjectReply* reply);
  bool TryKeyValue(Object& object, const ObjectRequest& request, ObjectReply* reply);
  bool TryBarrier(Object& object, const ObjectRequest& request, ObjectReply* reply);
  // Answers all requests at a barrier whose parties have all arrived.
  void Complete(Object& object, std::vector<Answer>* answers);
  // Breaks a barrier: its waiting requests fail.
  void Break(Object& object, const std::string& why, std::vector<Answer>* answers);
  // Serves the waiting requests of the object as far as possible.
  void Settle(Object& object, std::vector<Answer>* answers);

  std::map<std::uint64_t, Object> objects_;
  std::uint64_t last_object_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_OBJECTS_OBJECT_TABLE_H_
