#ifndef LAUNCHER_TESTING_CALL_CHILD_MESSAGE_H_
#define LAUNCHER_TESTING_CALL_CHILD_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "launcher/testing/spec/codec.h"

namespace launcher::testing {

// The messages between a runner and its children, over a socket to each child. Both are the same
// binary, so the protocol has no versions.

// In a child's environment: "FD:INODE" of that socket. The inode ensures that another descriptor is
// not mistaken for it.
inline constexpr char kChildVariable[] = "YARD_TEST_CHILD";
// The beginning of a variable in the environment of a child and everything that it starts,
// including the children of its own runners. A number that is unique on the machine follows it.
inline constexpr char kMarkVariable[] = "YARD_TEST_TASK_";

// Exit code of a child whose function has returned but whose result could not be sent.
inline constexpr int kLostResultExit = 71;

// The content of the first message: what the child is to do.
struct StartOrder {
  std::string type;
  int index = 0;
  std::string function;    // Empty for a pool's worker without an initializer.
  std::string arguments;   // Encoded.
  bool is_worker = false;  // A pool's worker: waits for calls; the function is its initializer.
  bool daemon = false;     // Ends when its parent does.
  bool operator==(const StartOrder&) const = default;
};
template <>
struct Codec<StartOrder>
    : Fields<&StartOrder::type, &StartOrder::index, &StartOrder::function, &StartOrder::arguments,
             &StartOrder::is_worker, &StartOrder::daemon> {};

// The result of a call of a function: at most one for each call.
struct CallResult {
  absl::Status status;
  std::optional<EncodedValue> value;
  bool operator==(const CallResult&) const = default;
};
template <>
struct Codec<CallResult> : Fields<&CallResult::status, &CallResult::value> {};

// A request to a shared object, or to the barrier of the tasks.
struct ObjectRequest {
  enum class Operation {
    kBarrier,
    kMakeEvent,
    kMakeLock,
    kMakeSemaphore,
    kMakeCounter,
    kMakeQueue,
    kMakeKeyValue,
    kMakeBarrier,
    kRemove,
    kSet,      // Event; KeyValue: `key` to `value`.
    kClear,    // Event; KeyValue: `key`; Barrier: repairs it.
    kGet,      // The present value: Event, Semaphore, Counter, Queue (its size); KeyValue: `key`.
    kWait,     // Event; Counter, until it is at least `number`; KeyValue, until `key` is set;
               // Barrier, until all parties have arrived.
    kAcquire,  // Lock; Semaphore.
    kRelease,  // Lock; Semaphore, `number` units.
    kAdd,      // Counter.
    kPut,      // Queue.
    kTake,     // Queue.
    kKeys,     // KeyValue.
  };
  Operation operation = Operation::kGet;
  std::uint64_t home = 0;  // The process that keeps the object.
  std::uint64_t object = 0;
  std::int64_t number = 0;
  std::string key;
  std::string value;
  std::vector<std::string> parties;  // kBarrier.
  absl::Duration timeout;
  bool operator==(const ObjectRequest&) const = default;
};
template <>
struct Codec<ObjectRequest>
    : Fields<&ObjectRequest::operation, &ObjectRequest::home, &ObjectRequest::object,
             &ObjectRequest::number, &ObjectRequest::key, &ObjectRequest::value,
             &ObjectRequest::parties, &ObjectRequest::timeout> {};

struct ObjectReply {
  absl::Status status;
  std::int64_t number = 0;
  std::string value;
  std::vector<std::string> keys;
  bool operator==(const ObjectReply&) const = default;
};
template <>
struct Codec<ObjectReply>
    : Fields<&ObjectReply::status, &ObjectReply::number, &ObjectReply::value, &ObjectReply::keys> {
};

struct Message {
  enum class Kind {
    kStart,      // To the child: a StartOrder.
    kTerminate,  // To the child: exit at once with exit code 1.
    kCall,       // To a pool's worker: a CallOrder.
    kEnd,        // To a pool's worker: no more calls follow.
    kResult,     // From the child: a CallResult, of the function, or of kCall `number`.
    kRequest,    // From the child: an ObjectRequest.
    kReply,      // To the child: an ObjectReply to request `number`.
  };
  Kind kind = Kind::kStart;
  std::uint64_t number = 0;
  std::string content;  // Encoded.
  bool operator==(const Message&) const = default;
};
template <>
struct Codec<Message> : Fields<&Message::kind, &Message::number, &Message::content> {};

struct CallOrder {
  std::string function;
  std::string arguments;
};
template <>
struct Codec<CallOrder> : Fields<&CallOrder::function, &CallOrder::arguments> {};

// Maximum size in bytes of an argument, a result, an item of a queue or any other content,
inline constexpr std::size_t kMaxContent = std::size_t{256} << 20;
// and of a message with its header.
inline constexpr std::size_t kMaxMessage = kMaxContent + (std::size_t{1} << 20);

// Encodes a message for the socket: its size (four bytes) and its content.
std::string Frame(const Message& message);

// Splits a stream of bytes into messages.
class MessageReader {
 public:
  void Add(std::string_view bytes) { bytes_.append(bytes); }
  // Returns the next message; nullopt if it is incomplete. After DataLoss no further message can be
  // read.
  std::optional<Message> Next(absl::Status* error);

 private:
  std::string bytes_;
  std::size_t taken_ = 0;
};

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_CALL_CHILD_MESSAGE_H_
