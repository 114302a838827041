#ifndef LAUNCHER_TESTING_SHARED_OBJECTS_H_
#define LAUNCHER_TESTING_SHARED_OBJECTS_H_

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/testing/call/child_message.h"
#include "launcher/testing/spec/codec.h"

namespace launcher::testing {

// Objects that a test and its children share; they replace those of the original's manager. Make()
// creates an object in one process; it is passed to functions as an argument, and used in the same
// way everywhere; copies refer to the same object. The process that created it keeps it as long as
// that process has a copy; after that all uses return NotFound, and Unavailable once the process
// has ended. If an object could not be created, its first use returns the error. A
// default-constructed variable refers to no object: NotFound.
//
// Thread-safe. All methods block; each wait ends after its time-out with DeadlineExceeded (by
// default 200 s, as in Join()). When a child has ended, its waits end, and it no longer holds locks
// and units: see SharedLock and SharedSemaphore. (A process that a child has started counts as the
// child.)
//
// They are for the processes of one test: they are not stored, and not for other programs.
inline constexpr absl::Duration kSharedObjectTimeout = absl::Seconds(200);

// The base of all shared objects.
class SharedObject {
 public:
  std::uint64_t home() const { return home_; }
  std::uint64_t object() const { return object_; }
  // Makes this refer to an object of another process; used for arguments.
  void Refer(std::uint64_t home, std::uint64_t object);

 protected:
  using Operation = ObjectRequest::Operation;
  SharedObject() = default;  // Refers to no object.
  SharedObject(Operation make, std::int64_t number);
  ObjectReply Ask(Operation operation, absl::Duration timeout = absl::ZeroDuration(),
                  std::int64_t number = 0, std::string key = {}, std::string value = {}) const;

 private:
  std::uint64_t home_ = 0, object_ = 0;
  absl::Status made_;
  std::shared_ptr<const void> owner_;  // Set in the process that created the object.
};

// A flag to wait for.
class SharedEvent : public SharedObject {
 public:
  static constexpr char kName[] = "SharedEvent";
  SharedEvent() = default;
  static SharedEvent Make() { return SharedEvent(Operation::kMakeEvent, 0); }
  absl::Status Set() const;
  absl::Status Clear() const;
  absl::StatusOr<bool> IsSet() const;
  absl::Status Wait(absl::Duration timeout = kSharedObjectTimeout) const;

 private:
  using SharedObject::SharedObject;
};

// A lock; not recursive, and any process may release it.
class SharedLock : public SharedObject {
 public:
  static constexpr char kName[] = "SharedLock";
  SharedLock() = default;
  static SharedLock Make() { return SharedLock(Operation::kMakeLock, 0); }
  // Returns the name of the task that died while it held the lock, if one has since the lock was
  // last acquired: the state that the lock guards may then be inconsistent. The death of its holder
  // releases the lock.
  absl::StatusOr<std::string> Acquire(absl::Duration timeout = kSharedObjectTimeout) const;
  absl::Status Release() const;  // FailedPrecondition if it is not held.

 private:
  using SharedObject::SharedObject;
};

// A semaphore. Units that a process has acquired and not released are returned when the process
// ends.
class SharedSemaphore : public SharedObject {
 public:
  static constexpr char kName[] = "SharedSemaphore";
  SharedSemaphore() = default;
  static SharedSemaphore Make(std::int64_t units) {
    return SharedSemaphore(Operation::kMakeSemaphore, units);
  }
  absl::Status Acquire(absl::Duration timeout = kSharedObjectTimeout) const;  // Acquires one unit.
  absl::Status Release(std::int64_t units = 1) const;
  absl::StatusOr<std::int64_t> Units() const;

 private:
  using SharedObject::SharedObject;
};

class SharedCounter : public SharedObject {
 public:
  static constexpr char kName[] = "SharedCounter";
  SharedCounter() = default;
  static SharedCounter Make(std::int64_t value = 0) {
    return SharedCounter(Operation::kMakeCounter, value);
  }
  absl::StatusOr<std::int64_t> Add(std::int64_t amount = 1) const;  // Returns the new value.
  absl::StatusOr<std::int64_t> Value() const;
  // Blocks until the counter is at least `value`; returns the counter.
  absl::StatusOr<std::int64_t> WaitFor(std::int64_t value,
                                       absl::Duration timeout = kSharedObjectTimeout) const;

 private:
  using SharedObject::SharedObject;
};

// A queue, first in, first out. Each item is delivered to one process, and is lost if that process
// dies.
template <typename T>
class SharedQueue : public SharedObject {
 public:
  static constexpr char kName[] = "SharedQueue";
  SharedQueue() = default;
  // Put() blocks while the queue has `most` items (0 for no limit except 256 MiB).
  static SharedQueue<T> Make(std::int64_t most = 0) {
    return SharedQueue(Operation::kMakeQueue, most);
  }

  absl::Status Put(const T& item, absl::Duration timeout = kSharedObjectTimeout) const {
    return Ask(Operation::kPut, timeout, 0, {}, Encode(item)).status;
  }
  absl::StatusOr<T> Take(absl::Duration timeout = kSharedObjectTimeout) const {
    const ObjectReply reply = Ask(Operation::kTake, timeout);
    if (!reply.status.ok()) return reply.status;
    std::optional<T> item = Decode<T>(reply.value);
    if (!item) return absl::InvalidArgumentError("the queue's item is no " + Codec<T>::Name());
    return *std::move(item);
  }
  absl::StatusOr<std::int64_t> Size() const {
    const ObjectReply reply = Ask(Operation::kGet);
    if (!reply.status.ok()) return reply.status;
    return reply.number;
  }

 private:
  using SharedObject::SharedObject;
};

// A map from keys to texts.
class SharedKeyValue : public SharedObject {
 public:
  static constexpr char kName[] = "SharedKeyValue";
  SharedKeyValue() = default;
  static SharedKeyValue Make() { return SharedKeyValue(Operation::kMakeKeyValue, 0); }
  absl::Status Set(const std::string& key, const std::string& value) const;
  absl::StatusOr<std::string> Get(const std::string& key) const;  // NotFound if it is not set.
  // Blocks until the key is set.
  absl::StatusOr<std::string> Wait(const std::string& key,
                                   absl::Duration timeout = kSharedObjectTimeout) const;
  absl::StatusOr<bool> Remove(const std::string& key) const;  // Returns true if it was set.
  absl::StatusOr<std::vector<std::string>> Keys() const;      // Sorted.

 private:
  using SharedObject::SharedObject;
};

// A reusable barrier, which releases its parties once all of them have arrived. The parties are the
// processes that call Wait(): any tasks, and the test itself, which is not a party of the barrier
// of the tasks (below).
class SharedBarrier : public SharedObject {
 public:
  static constexpr char kName[] = "SharedBarrier";
  SharedBarrier() = default;
  static SharedBarrier Make(std::int64_t parties) {
    return SharedBarrier(Operation::kMakeBarrier, parties);
  }
  // Returns the caller's position in the order of arrival, from 0. A time-out is DeadlineExceeded
  // for the process that timed out, and breaks the barrier: until Reset(), all others, and all
  // later calls, get FailedPrecondition. The end of a waiting process also breaks it.
  absl::StatusOr<int> Wait(absl::Duration timeout = kSharedObjectTimeout) const;
  absl::Status Reset() const;
  absl::StatusOr<std::int64_t> Waiting() const;  // Returns the number of waiting processes.

 private:
  using SharedObject::SharedObject;
};

// The barrier of a run's tasks. It is reusable; see launcher/share/barriers.h.
class Barrier {
 public:
  struct Options {
    // Barriers with different names are independent.
    std::string name = "barrier";
    // "worker-0", or "worker" for all tasks of a type; empty for all tasks of the cluster spec.
    std::vector<std::string> parties = {};
    absl::Duration timeout = kSharedObjectTimeout;
  };
  // Blocks until all parties have arrived; returns this task's position in the order of arrival,
  // from 0. A time-out is DeadlineExceeded for the task that timed out, and breaks the barrier: all
  // others, and all later calls of the run, get FailedPrecondition, so another try needs another
  // name. The end of a party also breaks it. With a time-out of zero it returns DeadlineExceeded,
  // and the task does not count as arrived. InvalidArgument if the parties are not tasks, or this
  // task is not one of them.
  absl::StatusOr<int> Wait(const Options& options) const;
  absl::StatusOr<int> Wait() const { return Wait(Options()); }
};

template <std::derived_from<SharedObject> T>
struct Codec<T> {
  static std::string Name() { return T::kName; }
  static void Write(const T& value, std::string* to) {
    Codec<std::uint64_t>::Write(value.home(), to);
    Codec<std::uint64_t>::Write(value.object(), to);
  }
  static bool Read(std::string_view* from, T* value) {
    std::uint64_t home = 0, object = 0;
    if (!Codec<std::uint64_t>::Read(from, &home) || !Codec<std::uint64_t>::Read(from, &object)) {
      return false;
    }
    value->Refer(home, object);
    return true;
  }
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_SHARED_OBJECTS_H_
