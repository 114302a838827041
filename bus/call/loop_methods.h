#ifndef BUS_CALL_LOOP_METHODS_H_
#define BUS_CALL_LOOP_METHODS_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "bus/call/service.h"
#include "runtime/event_loop.h"

namespace bus {

// Adds methods to a service whose handlers run on the thread of an event loop instead of the pool.
// Copyable.
class LoopMethods {
 public:
  // Owns neither argument; both must outlive every call.
  LoopMethods(Service* service, runtime::EventLoop* loop) : service_(service), loop_(loop) {}
  // Calls no handler once `alive` has expired.
  LoopMethods(Service* service, runtime::EventLoop* loop, std::weak_ptr<const void> alive)
      : service_(service), loop_(loop), alive_(std::move(alive)) {}

  // Calls `handler`, which finishes the writer immediately or later.
  template <typename M>
  void Serve(
      std::function<void(std::shared_ptr<ReplyWriter<M>>, typename M::RequestT)> handler) const {
    service_->HandleAsync<M>(
        [loop = loop_, alive = alive_, handler = std::move(handler)](
            std::shared_ptr<ReplyWriter<M>> writer, const typename M::RequestT& asked) {
          loop->Post([alive, handler, writer = std::move(writer),
                      request = std::make_shared<typename M::RequestT>(asked)] {
            if (!alive || !alive->expired()) handler(writer, std::move(*request));
          });
        });
  }
  // Answers with the value that `handler` returns.
  template <typename M>
  void Answer(
      std::function<absl::StatusOr<typename M::ReplyT>(const CallContext&, typename M::RequestT)>
          handler) const {
    Serve<M>([handler = std::move(handler)](const std::shared_ptr<ReplyWriter<M>>& writer,
                                            typename M::RequestT request) {
      writer->Finish(handler(writer->context(), std::move(request)));
    });
  }

 private:
  Service* service_;
  runtime::EventLoop* loop_;
  std::optional<std::weak_ptr<const void>> alive_;
};

}  // namespace bus

#endif  // BUS_CALL_LOOP_METHODS_H_
