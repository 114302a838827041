#ifndef DATAMANAGER_SERVE_H_
#define DATAMANAGER_SERVE_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/call/service.h"
#include "datamanager/answer/answer.h"
#include "runtime/thread_pool.h"

namespace datamanager {

// Where the answer of a call on the bus goes.
template <typename M>
class CallWriter : public AnswerWriter<typename M::ReplyT> {
 public:
  explicit CallWriter(std::shared_ptr<bus::ReplyWriter<M>> call) : call_(std::move(call)) {}

  absl::Status SendPart(typename M::ReplyT part) override {
    return call_->SendPart(std::move(part));
  }
  void WhenWritable(std::function<void()> writable) override {
    call_->WhenWritable(std::move(writable));
  }
  void Finish(absl::StatusOr<typename M::ReplyT> reply) override {
    call_->Finish(std::move(reply));
  }
  bool cancelled() const override { return call_->cancelled(); }

 private:
  const std::shared_ptr<bus::ReplyWriter<M>> call_;
};

// Answers each call of M with what `make(request)` makes, a StatusOr of an AnswerMaker. `pool` is
// not owned.
template <typename M, typename Make>
void Serve(bus::Service* service, runtime::ThreadPool* pool, Make make) {
  service->HandleAsync<M>(
      [pool, make](std::shared_ptr<bus::ReplyWriter<M>> call, const typename M::RequestT& request) {
        auto maker = make(request);
        if (!maker.ok()) return call->Finish(maker.status());
        StartAnswer<typename M::ReplyT>(*std::move(maker),
                                        std::make_shared<CallWriter<M>>(std::move(call)), pool);
      });
}

}  // namespace datamanager

#endif  // DATAMANAGER_SERVE_H_
