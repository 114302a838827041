#ifndef BUS_CALL_SERVICE_H_
#define BUS_CALL_SERVICE_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/envelope_generated.h"
#include "bus/schema/method.h"
#include "bus/thread/node.h"
#include "runtime/thread_pool.h"

namespace bus {

// The caller of a method, and its deadline. Copyable.
struct CallContext {
  uid_t uid = 0;  // From the kernel, by the peer's socket.
  pid_t pid = 0;
  std::uint64_t source = 0;
  std::string request_id;
  std::string trace;
  int attempt = 0;  // Counts the times the caller has sent it, from 0.
  // On Clock::Monotonic(); InfiniteDuration: none.
  absl::Duration deadline = absl::InfiniteDuration();
};

// The reply side of one call, in envelopes. Any thread may call any method.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual const CallContext& context() const = 0;
  // Sends a part of a streaming reply. Cancelled once the caller has gone or cancelled: end the
  // work then. ResourceExhausted while too much is queued for this caller (4 MiB): nothing was
  // sent, try again after WhenWritable().
  virtual absl::Status SendPart(msg::EnvelopeT part) = 0;
  // Runs `writable` (on the bus thread) once there is room again.
  virtual void WhenWritable(std::function<void()> writable) = 0;
  // Ends the call; later calls of any method do nothing. A Responder that is destroyed without
  // it answers Internal.
  virtual void Finish(absl::StatusOr<msg::EnvelopeT> reply) = 0;
  virtual bool cancelled() const = 0;
  // Runs `cancelled` once, on the bus thread, when the caller cancels or disappears (at once if
  // it has). While a streaming call is open, Pings keep it alive.
  virtual void OnCancel(std::function<void()> cancelled) = 0;
};

// The same for one method.
template <typename M>
class ReplyWriter {
 public:
  explicit ReplyWriter(std::shared_ptr<Responder> responder) : responder_(std::move(responder)) {}
  const CallContext& context() const { return responder_->context(); }
  absl::Status SendPart(typename M::ReplyT part) {
    msg::EnvelopeT envelope;
    envelope.body.Set(std::move(part));
    return responder_->SendPart(std::move(envelope));
  }
  void Finish(absl::StatusOr<typename M::ReplyT> reply) {
    if (!reply.ok()) return responder_->Finish(reply.status());
    msg::EnvelopeT envelope;
    envelope.body.Set(std::move(*reply));
    responder_->Finish(std::move(envelope));
  }
  void WhenWritable(std::function<void()> fn) { responder_->WhenWritable(std::move(fn)); }
  bool cancelled() const { return responder_->cancelled(); }
  void OnCancel(std::function<void()> fn) { responder_->OnCancel(std::move(fn)); }

 private:
  std::shared_ptr<Responder> responder_;
};

// Serves methods on a ROUTER socket. Add all methods, then Start().
//
// Handlers run on the pool (methods marked inline: on the bus thread). Unknown methods are
// answered Unimplemented, a body of another type InvalidArgument, a full pool
// ResourceExhausted, another user's process PermissionDenied.
//
// Handlers run in the TraceScope of their call, so that calls they make carry its trace on. Each
// call that may change something is logged once with its caller, request id and trace (renewals
// only the first of a process); each that fails too, at most ten a second.
//
// A large answer of a method that does not stream goes in parts (bus/thread/reply_parts.h), to a
// REQ socket in one message; one over the limits, or over what may wait for one caller (64 MiB),
// becomes ResourceExhausted.
class Service {
 public:
  struct Options {
    std::string name = {};      // "launcher"
    std::string endpoint = {};  // "ipc://..."; its directory is private and its lock is held by the
                                // process already (see ServiceProcess).
    runtime::ThreadPool* pool = nullptr;  // Not owned; outlives the Service.
  };
  struct MethodStats {
    std::string name;
    std::uint64_t count = 0, errors = 0, sum_us = 0;
    std::vector<std::uint64_t> buckets;
  };
  using Handler = std::function<void(std::shared_ptr<Responder>, const msg::EnvelopeT&)>;

  Service(Node* node, Options options);
  ~Service();  // Stop().
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void AddMethod(const MethodInfo& method, msg::Body request_type, Handler handler);

  // M is rpc::SERVICE::METHOD; its role and idempotency come with it.
  template <typename M>
  void Handle(std::function<absl::StatusOr<typename M::ReplyT>(const CallContext&,
                                                               const typename M::RequestT&)>
                  handler) {
    AddMethod(M::kInfo, M::kRequestType,
              [handler = std::move(handler)](std::shared_ptr<Responder> responder,
                                             const msg::EnvelopeT& request) {
                ReplyWriter<M> writer(responder);
                writer.Finish(handler(responder->context(), *M::RequestOf(request.body)));
              });
  }
  // The handler answers when it likes, from any thread.
  template <typename M>
  void HandleAsync(
      std::function<void(std::shared_ptr<ReplyWriter<M>>, const typename M::RequestT&)> handler) {
    AddMethod(M::kInfo, M::kRequestType,
              [handler = std::move(handler)](std::shared_ptr<Responder> responder,
                                             const msg::EnvelopeT& request) {
                handler(std::make_shared<ReplyWriter<M>>(std::move(responder)),
                        *M::RequestOf(request.body));
              });
  }

  // Binds the socket and starts answering.
  absl::Status Start();
  // Binds it again, where the file of its address was removed: connections that there are go on. On
  // any thread but the bus thread.
  absl::Status BindAgain();
  // Stops taking calls; open ones are answered Unavailable.
  void Stop();
  std::vector<MethodStats> GetStats() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace bus

#endif  // BUS_CALL_SERVICE_H_
