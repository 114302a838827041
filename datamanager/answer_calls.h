#ifndef DATAMANAGER_ANSWER_CALLS_H_
#define DATAMANAGER_ANSWER_CALLS_H_

#include <memory>
#include <utility>

#include "bus/call/reply_stream.h"
#include "bus/call/service.h"
#include "datamanager/answer/answer.h"
#include "runtime/thread_pool.h"

namespace datamanager {

// Answers each call of M with the maker that `make(request)` returns (a StatusOr of an
// AnswerMaker). `pool` is not owned.
template <typename M, typename Make>
void AnswerCalls(bus::Service* service, runtime::ThreadPool* pool, Make make) {
  service->HandleAsync<M>(
      [pool, make](std::shared_ptr<bus::ReplyWriter<M>> call, const typename M::RequestT& request) {
        auto maker = make(request);
        if (!maker.ok()) return call->Finish(maker.status());
        StartAnswer<typename M::ReplyT>(*std::move(maker), bus::StreamOf<M>(std::move(call)), pool);
      });
}

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_CALLS_H_
