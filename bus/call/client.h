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
  // Zero: the method's default timeout.
  absl::Duration timeout = absl::ZeroDuration();
  // Identifies one change; every retry of that change carries the same id. Empty: a new random id.
  // A caller that stores its intent before it calls stores this id with the intent.
  std::string request_id = {};
  // Trace id, which follows one command through every hop. Empty: the trace of the call that this
  // thread works for (see bus/wire/trace.h), else the Node's trace, else the request id.
  std::string trace = {};
  // Service to call. Empty: the method's own service. Methods of every service require it.
  std::string service = {};
  // Waits, within the deadline, for a service that does not run (it is being restarted) instead of
  // returning Unavailable at once.
  bool wait_for_service = false;
};

// Calls methods of services. Finds services through the registry and follows a restarted one. When
// a connection breaks, the client retries, within the deadline, calls of methods that may be
// repeated (safe, idempotent, stored, or remembered with the same request id). Any thread may call
// any method, but the blocking ones must not run on the bus thread.
//
// The client joins an answer that travels in parts (bus/thread/reply_parts.h) and delivers it
// whole; it delivers the parts of a streaming method one by one.
//
// Errors: Unavailable (the service, or the registry, does not run; the message names it and its
// address), DeadlineExceeded, Unimplemented (unknown method), FailedPrecondition (one side is too
// old for the other; the message says which), and every error that the handler returned.
class Client {
 public:
  explicit Client(Node* node);
  ~Client();  // Cancels open calls; waits for running callbacks.
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Calls a method with an untyped envelope, for callers that do not know the types (`yard call`).
  // `request` has its method and body set. Blocks.
  absl::StatusOr<msg::EnvelopeT> CallEnvelope(const MethodInfo& method, msg::EnvelopeT request,
                                              const CallOptions& options = {});
  // Calls a streaming method. Runs `on_part` on the calling thread for each ReplyPart; if it
  // returns false, the call is cancelled and the result is Cancelled. Blocks.
  absl::StatusOr<msg::EnvelopeT> StreamEnvelope(
      const MethodInfo& method, msg::EnvelopeT request,
      const std::function<bool(msg::EnvelopeT part)>& on_part, const CallOptions& options = {});
  // Starts a call and returns its id for Cancel(). Does not block. `done` runs once, on the bus
  // thread, and so does `on_part` for each part; both must be short and never block. Calls that
  // they make inherit the trace of this call.
  std::uint64_t StartEnvelope(const MethodInfo& method, msg::EnvelopeT request,
                              std::function<void(msg::EnvelopeT part)> on_part,
                              std::function<void(absl::StatusOr<msg::EnvelopeT>)> done,
                              const CallOptions& options = {});
  // Cancels an open call: its `done` receives Cancelled. Ignores unknown ids.
  void Cancel(std::uint64_t call);

  // Typed forms: M is rpc::SERVICE::METHOD.
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
