#ifndef DATAMANAGER_ANSWER_ANSWER_H_
#define DATAMANAGER_ANSWER_ANSWER_H_

// An answer that takes a while: a pool makes it part by part, no faster than the caller reads it.
// No thread blocks meanwhile, neither for the caller nor for files.

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/call/reply_stream.h"
#include "runtime/thread_pool.h"

namespace datamanager {

// Makes the parts of an answer. Used by one thread at a time.
template <typename Reply>
class AnswerMaker {
 public:
  struct Part {
    Reply reply;
    bool last = false;  // True for the part that finishes the call.
  };
  virtual ~AnswerMaker() = default;
  // Returns the next part. After Unavailable, if OnReady() returns true, Next() is called again
  // once `ready` has run. Any other error ends the answer.
  virtual absl::StatusOr<Part> Next() = 0;
  // Calls `ready` once, on any thread, when Next() can continue. Returns false if nothing would
  // call it.
  virtual bool OnReady(std::function<void()> ready) = 0;
};

// Drives an answer. The party that must act next holds a reference and so keeps it alive: the pool,
// the caller (until it has room), or the reader of the files. If the caller has disconnected, the
// answer ends at the next such event.
template <typename Reply>
class Answering : public std::enable_shared_from_this<Answering<Reply>> {
 public:
  using Maker = AnswerMaker<Reply>;

  Answering(std::unique_ptr<Maker> maker, std::shared_ptr<bus::ReplyStream<Reply>> writer,
            runtime::ThreadPool* pool)
      : maker_(std::move(maker)), writer_(std::move(writer)), pool_(pool) {}

  // Makes and sends all parts that can be made and sent now.
  void Run() {
    while (!writer_->cancelled()) {
      if (!unsent_) {
        absl::StatusOr<typename Maker::Part> next = maker_->Next();
        if (absl::IsUnavailable(next.status()) && maker_->OnReady(Again())) return;
        if (!next.ok()) return writer_->Finish(next.status());
        if (next->last) return writer_->Finish(std::move(next->reply));
        unsent_ = std::move(next->reply);
      }
      const absl::Status sent = writer_->SendPart(*unsent_);
      if (absl::IsResourceExhausted(sent)) return writer_->WhenWritable(Again());
      if (!sent.ok()) return writer_->Finish(sent);
      unsent_.reset();
    }
  }

 private:
  // Returns a callback that continues on the pool, because its caller has other work.
  std::function<void()> Again() {
    return [self = this->shared_from_this()] {
      const absl::Status queued = self->pool_->Submit([self] {
        self->Run();
        return absl::OkStatus();
      });
      if (!queued.ok()) self->writer_->Finish(queued);
    };
  }

  const std::unique_ptr<Maker> maker_;
  const std::shared_ptr<bus::ReplyStream<Reply>> writer_;
  runtime::ThreadPool* const pool_;
  std::optional<Reply> unsent_;
};

// Starts an answer on this thread; continues on the pool after the first wait. `pool` is not owned.
template <typename Reply>
void StartAnswer(std::unique_ptr<AnswerMaker<Reply>> maker,
                 std::shared_ptr<bus::ReplyStream<Reply>> writer, runtime::ThreadPool* pool) {
  std::make_shared<Answering<Reply>>(std::move(maker), std::move(writer), pool)->Run();
}

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_ANSWER_H_
