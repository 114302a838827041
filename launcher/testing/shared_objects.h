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

// Objects that a test and its children use together, in place of those of the original's manager.
// Made by Make() in one process, passed to functions as arguments, and used alike everywhere;
// copies are the same object. It is kept by the process that has made it, as long as that has a
// copy: then everybody gets NotFound, and Unavailable once the process has ended. If an object
// could not be made, its first use returns the error. A variable that is only declared is no object
// yet: NotFound.
//
// Any thread may call any method. All block: each wait ends after its time-out with
// DeadlineExceeded (200 s if nothing else is said, as Join() does). A child's process that has
// ended waits for nothing, and no longer holds what it held: see Lock and Semaphore. (A process of
// a child's own children counts as the child.)
//
// They are for the processes of one test: not on disk, not for other programs.
inline constexpr absl::Duration kSharedObjectTimeout = absl::Seconds(200);

// The base of all shared objects.
class SharedObject {
 public:
  std::uint64_t home() const { return home_; }
  std::uint64_t object() const { return object_; }
  // As an argument: the same object in another process.
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
  std::shared_ptr<const void> owner_;  // In the process that has made it.
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

// Not recursive; any process may release it.
class SharedLock : public SharedObject {
 public:
  static constexpr char kName[] = "SharedLock";
  SharedLock() = default;
  static SharedLock Make() { return SharedLock(Operation::kMakeLock, 0); }
  // The name of the task that has died with the lock, if one has since it was acquired last: what
  // the lock guards may be half done. A lock is never lost with its holder.
  absl::StatusOr<std::string> Acquire(absl::Duration timeout = kSharedObjectTimeout) const;
  absl::Status Release() const;  // FailedPrecondition if nobody holds it.

 private:
  using SharedObject::SharedObject;
};

// Units that a process has acquired and not released come back when it has ended.
class SharedSemaphore : public SharedObject {
 public:
  static constexpr char kName[] = "SharedSemaphore";
  SharedSemaphore() = default;
  static SharedSemaphore Make(std::int64_t units) {
    return SharedSemaphore(Operation::kMakeSemaphore, units);
  }
  absl::Status Acquire(absl::Duration timeout = kSharedObjectTimeout) const;  // One unit.
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
  absl::StatusOr<std::int64_t> Add(std::int64_t amount = 1) const;  // The new value.
  absl::StatusOr<std::int64_t> Value() const;
  // Until it is at least `value`; returns what it is.
  absl::StatusOr<std::int64_t> WaitFor(std::int64_t value,
                                       absl::Duration timeout = kSharedObjectTimeout) const;

 private:
  using SharedObject::SharedObject;
};

// First in, first out. An item is handed to one process: if that dies with it, it is gone.
template <typename T>
class SharedQueue : public SharedObject {
 public:
  static constexpr char kName[] = "SharedQueue";
  SharedQueue() = default;
  // Put() waits while there are `most` items (0: no limit but 256 MiB).
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

// Texts by their keys.
class SharedKeyValue : public SharedObject {
 public:
  static constexpr char kName[] = "SharedKeyValue";
  SharedKeyValue() = default;
  static SharedKeyValue Make() { return SharedKeyValue(Operation::kMakeKeyValue, 0); }
  absl::Status Set(const std::string& key, const std::string& value) const;
  absl::StatusOr<std::string> Get(const std::string& key) const;  // NotFound.
  // Until somebody has set it.
  absl::StatusOr<std::string> Wait(const std::string& key,
                                   absl::Duration timeout = kSharedObjectTimeout) const;
  absl::StatusOr<bool> Remove(const std::string& key) const;  // True if it was there.
  absl::StatusOr<std::vector<std::string>> Keys() const;      // Sorted.

 private:
  using SharedObject::SharedObject;
};

// Lets its parties go once all of them have come; again and again. The parties are whoever comes:
// tasks, all or some, and the test itself, which is no party of the barrier of the tasks (below).
class SharedBarrier : public SharedObject {
 public:
  static constexpr char kName[] = "SharedBarrier";
  SharedBarrier() = default;
  static SharedBarrier Make(std::int64_t parties) {
    return SharedBarrier(Operation::kMakeBarrier, parties);
  }
  // Returns the place in which the caller came, from 0. DeadlineExceeded for the process whose time
  // is over, and FailedPrecondition for all others then and later: the barrier is broken, until
  // Reset(). The end of a process that waits breaks it, too.
  absl::StatusOr<int> Wait(absl::Duration timeout = kSharedObjectTimeout) const;
  absl::Status Reset() const;
  absl::StatusOr<std::int64_t> Waiting() const;  // How many.

 private:
  using SharedObject::SharedObject;
};

// The barrier of a run's tasks. It can be used again and again; see launcher/share/barriers.h.
class Barrier {
 public:
  struct Options {
    // Barriers of different names have nothing to do with each other.
    std::string name = "barrier";
    // "worker-0", or "worker" for all of a type; empty: all tasks of the cluster spec.
    std::vector<std::string> parties = {};
    absl::Duration timeout = kSharedObjectTimeout;
  };
  // Returns the place in which this task came, from 0, once all parties have come. DeadlineExceeded
  // for the task whose time was over, and FailedPrecondition for all others then and later: the
  // barrier is broken for the rest of the run: another attempt needs another name. The end of a
  // party breaks it, too. Without any time to wait it is DeadlineExceeded, and the task has not
  // come. InvalidArgument for parties that are not tasks, or that this task is not among.
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
