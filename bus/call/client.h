#ifndef BUS_CALL_CLIENT_H_
#define BUS_CALL_CLIENT_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/envelope_generated.h"
#include "bus/schema/method.h"
#include "bus/thread/node.h"

namespace bus {

struct CallOptions {
  // Zero: the method's own default.
  absl::Duration timeout = absl::ZeroDuration();
  // The same for every try of one change; empty: a new random one. A caller that stores its
  // intent first stores this id with it.
  std::string request_id = {};
  // Follows one command through every hop. Empty: that of the call that this thread works for
  // (see bus/wire/trace.h), else the Node's, else the request id.
  std::string trace = {};
  // Service to call; empty: the method's own (methods of every service need it).
  std::string service = {};
  // While the service is not there (it is being restarted), wait for it within the deadline
  // instead of answering Unavailable at once.
  bool wait_for_service = false;
};

// Calls methods of services. Finds them through the registry, follows a restarted one. Calls of
// methods that may be repeated (safe, idempotent, stored, remembered with the same request id)
// are sent again within the deadline when the connection breaks. Any thread may call any method;
// the blocking ones never on the bus thread.
//
// An answer that travels in parts (bus/thread/reply_parts.h) arrives whole; a streaming method's
// parts arrive one by one.
//
// Errors: Unavailable (the service, or the registry, is not there: names it and the address),
// DeadlineExceeded, Unimplemented (unknown method), FailedPrecondition (one side is too old for the
// other: says which), and what the handler returned.
class Client {
 public:
  explicit Client(Node* node);
  ~Client();  // Cancels what is under way; waits for running callbacks.
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // A call in envelopes, for callers that do not know the types (`yard call`). `request` has
  // method and body set. Blocks.
  absl::StatusOr<msg::EnvelopeT> CallEnvelope(const MethodInfo& method, msg::EnvelopeT request,
                                              const CallOptions& options = {});
  // With parts: `on_part` runs on the calling thread for each ReplyPart; returning false cancels
  // the call (the result is then Cancelled).
  absl::StatusOr<msg::EnvelopeT> StreamEnvelope(
      const MethodInfo& method, msg::EnvelopeT request,
      const std::function<bool(msg::EnvelopeT part)>& on_part, const CallOptions& options = {});
  // Does not block; `done` runs once, on the bus thread: short, never blocking. `on_part` too.
  // Calls that they make carry this one's trace on.
  // Returns an id for Cancel().
  std::uint64_t StartEnvelope(const MethodInfo& method, msg::EnvelopeT request,
                              std::function<void(msg::EnvelopeT part)> on_part,
                              std::function<void(absl::StatusOr<msg::EnvelopeT>)> done,
                              const CallOptions& options = {});
  // `done` is called with Cancelled if the call has not ended. Unknown ids are ignored.
  void Cancel(std::uint64_t call);

  // The typed forms: M is rpc::SERVICE::METHOD.
  template <typename M>
  absl::StatusOr<typename M::ReplyT> Call(const typename M::RequestT& request,
                                          const CallOptions& options = {}) {
    return Unpack<M>(CallEnvelope(M::kInfo, Pack<M>(request), options));
  }
  template <typename M>
  absl::StatusOr<typename M::ReplyT> Stream(
      const typename M::RequestT& request,
      const std::function<bool(const typename M::ReplyT& part)>& on_part,
      const CallOptions& options = {}) {
    return Unpack<M>(StreamEnvelope(
        M::kInfo, Pack<M>(request),
        [&](msg::EnvelopeT part) {
          const auto* reply = M::ReplyOf(part.body);
          return reply == nullptr || on_part(*reply);
        },
        options));
  }
  template <typename M>
  std::uint64_t Start(const typename M::RequestT& request,
                      std::function<void(const typename M::ReplyT& part)> on_part,
                      std::function<void(absl::StatusOr<typename M::ReplyT>)> done,
                      const CallOptions& options = {}) {
    return StartEnvelope(
        M::kInfo, Pack<M>(request),
        [on_part = std::move(on_part)](msg::EnvelopeT part) {
          const auto* reply = M::ReplyOf(part.body);
          if (reply != nullptr && on_part) on_part(*reply);
        },
        [done = std::move(done)](absl::StatusOr<msg::EnvelopeT> end) {
          done(Unpack<M>(std::move(end)));
        },
        options);
  }

 private:
  template <typename M>
  static msg::EnvelopeT Pack(const typename M::RequestT& request) {
    msg::EnvelopeT envelope;
    envelope.method = std::string(M::kInfo.name);
    envelope.body.Set(typename M::RequestT(request));
    return envelope;
  }
  template <typename M>
  static absl::StatusOr<typename M::ReplyT> Unpack(absl::StatusOr<msg::EnvelopeT> end) {
    if (!end.ok()) return end.status();
    auto* reply = M::ReplyOf(end->body);
    if (reply == nullptr) return absl::InternalError("the reply has another type than its method");
    return std::move(*reply);
  }
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace bus

#endif  // BUS_CALL_CLIENT_H_
