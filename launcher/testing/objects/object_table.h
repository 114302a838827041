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

// The objects that the processes of a test share: what they hold and who waits for them. No clock:
// `now` comes in, and the same calls give the same answers. In place of the original's manager, a
// process that gives out proxies to Python objects.
//
// Requests that wait are served in the order of their coming. One thread.
class ObjectTable {
 public:
  static constexpr std::size_t kMaxObjects = 10'000;
  static constexpr std::size_t kMaxWaiting = 10'000;
  // Limit of the content of one queue or one key/value object.
  static constexpr std::size_t kMaxBytes = kMaxContent;

  using Ticket = std::uint64_t;  // The caller's number for a request.
  struct Answer {
    Ticket ticket = 0;
    ObjectReply reply;
  };

  // `client`: a process. All answers that there are now, for others too. NotFound for an object
  // that is not (or no longer) there, InvalidArgument for what the object cannot do,
  // FailedPrecondition for the release of a lock that nobody holds, ResourceExhausted at the
  // limits. A request that waits is answered later, with DeadlineExceeded when its time is over (a
  // time-out of zero does not wait).
  std::vector<Answer> Handle(std::uint64_t client, Ticket ticket, const ObjectRequest& request,
                             absl::Duration now);
  // Answers those whose time is over.
  std::vector<Answer> Expire(absl::Duration now);
  absl::Duration NextTimeout() const;  // When Expire() has something to do.

  // A process has ended. It waits for nothing any more, so nothing is handed to it; a lock that it
  // holds goes to the next one, who is told its `name`; the units of a semaphore that it has
  // acquired and not released come back; a barrier at which it waits is broken.
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
    std::int64_t number = 0;  // Event: 1 if set; lock: 1 if free; semaphore: units; counter; queue:
                              // how many items at most, 0: no limit; barrier: parties.
    std::map<std::uint64_t, std::int64_t> held = {};  // Lock, semaphore: by whom, how much.
    std::string dead_holder = {};                     // Lock: who has died with it.
    std::deque<std::string> items = {};
    std::map<std::string, std::string> pairs = {};
    std::size_t bytes = 0;
    std::string broken = {};  // Barrier: why.
    std::list<Waiting> waiting = {};
  };

  ObjectReply Make(const ObjectRequest& request);
  // True if it is done now, with `reply`.
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
  // Lets all through that wait at a barrier: all parties have come.
  void Complete(Object& object, std::vector<Answer>* answers);
  // Breaks a barrier: no process that waits there will be let through.
  void Break(Object& object, const std::string& why, std::vector<Answer>* answers);
  // Serves the requests that wait for the object.
  void Settle(Object& object, std::vector<Answer>* answers);

  std::map<std::uint64_t, Object> objects_;
  std::uint64_t last_object_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_OBJECTS_OBJECT_TABLE_H_
