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

// Identifies the caller of a method; carries the deadline. Copyable.
struct CallContext {
  uid_t uid = 0;  // From the kernel: the peer credentials of the socket.
  pid_t pid = 0;
  std::uint64_t source = 0;
  std::string request_id;
  std::string trace;
  int attempt = 0;  // Number of times the caller sent it before; 0 for the first.
  // On Clock::Monotonic(); InfiniteDuration: no deadline.
  absl::Duration deadline = absl::InfiniteDuration();
};

// Answers one call, in untyped envelopes. Any thread may call any method.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual const CallContext& context() const = 0;
  // Sends a part of a streaming reply. Returns Cancelled once the caller has disconnected or
  // cancelled: stop the work then. Returns ResourceExhausted, and sends nothing, while this
  // caller's queue is full (4 MiB): retry after WhenWritable().
  virtual absl::Status SendPart(msg::EnvelopeT part) = 0;
  // Runs `writable` once, on the bus thread, when the queue has room again.
  virtual void WhenWritable(std::function<void()> writable) = 0;
  // Ends the call; later calls of any method do nothing. A Responder that is destroyed unfinished
  // answers Internal.
  virtual void Finish(absl::StatusOr<msg::EnvelopeT> reply) = 0;
  virtual bool cancelled() const = 0;
  // Runs `cancelled` once, on the bus thread, when the caller cancels or disconnects (at once if it
  // already has). While a streaming call is open, Pings keep it alive.
  virtual void OnCancel(std::function<void()> cancelled) = 0;
};

// The typed form of Responder for method M.
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

// Serves methods on a ROUTER socket. Add all methods before Start().
//
// Handlers run on the pool, those of methods marked inline on the bus thread. An unknown method is
// answered with Unimplemented, a body of the wrong type with InvalidArgument, any call while the
// pool is full with ResourceExhausted, a call of another user's process with PermissionDenied.
//
// A handler runs in the TraceScope of its call, so that calls that it makes inherit the trace. The
// service logs each call that may change something once, with its caller, request id and trace (of
// renewals only the first of each process), and each failed call, at most ten a second.
//
// A large answer of a method that does not stream is sent in parts (bus/thread/reply_parts.h), but
// to a REQ socket in one message. An answer over the limits, or over the queue limit of one caller
// (64 MiB), becomes ResourceExhausted.
class Service {
 public:
  struct Options {
    std::string name = {};      // "launcher"
    std::string endpoint = {};  // "ipc://..."; its directory is private, and this process already
                                // holds its lock (see ServiceProcess).
    runtime::ThreadPool* pool = nullptr;  // Not owned; must outlive the Service.
  };
  struct MethodStats {
    std::string name;
    std::uint64_t count = 0, errors = 0, sum_us = 0;
    std::vector<std::uint64_t> buckets;
  };
  using Handler = std::function<void(std::shared_ptr<Responder>, const msg::EnvelopeT&)>;

  Service(Node* node, Options options);
  ~Service();  // Calls Stop().
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void AddMethod(const MethodInfo& method, msg::Body request_type, Handler handler);

  // Adds method M, which is rpc::SERVICE::METHOD and brings its role and idempotency. The value
  // that `handler` returns is the reply.
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
  // The same, but the handler may answer later, from any thread.
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

  // Binds the socket and starts to serve.
  absl::Status Start();
  // Binds the socket again after its file was removed; open connections stay open. Must not run on
  // the bus thread.
  absl::Status BindAgain();
  // Stops accepting calls; answers open ones with Unavailable.
  void Stop();
  std::vector<MethodStats> GetStats() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace bus

#endif  // BUS_CALL_SERVICE_H_
