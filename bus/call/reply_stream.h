#ifndef BUS_CALL_REPLY_STREAM_H_
#define BUS_CALL_REPLY_STREAM_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bus {

// The destination of an answer's parts: a ReplyWriter without its method, so that code that writes
// to one can be tested without a bus. Any thread.
template <typename Reply>
class ReplyStream {
 public:
  virtual ~ReplyStream() = default;
  // Returns ResourceExhausted if the queue is full and nothing was sent: retry after
  // WhenWritable(). Any other error: the caller has disconnected, or this part can never be sent.
  virtual absl::Status SendPart(Reply part) = 0;
  virtual void WhenWritable(std::function<void()> writable) = 0;
  virtual void Finish(absl::StatusOr<Reply> reply) = 0;
  virtual bool cancelled() const = 0;
  virtual void OnCancel(std::function<void()> cancelled) = 0;
};

// Returns the stream to the caller of `writer`, a shared pointer to a ReplyWriter of method M.
template <typename M, typename Writer>
std::shared_ptr<ReplyStream<typename M::ReplyT>> StreamOf(std::shared_ptr<Writer> writer) {
  using Reply = typename M::ReplyT;
  class Stream : public ReplyStream<Reply> {
   public:
    explicit Stream(std::shared_ptr<Writer> writer) : writer_(std::move(writer)) {}
    absl::Status SendPart(Reply part) override { return writer_->SendPart(std::move(part)); }
    void WhenWritable(std::function<void()> writable) override {
      writer_->WhenWritable(std::move(writable));
    }
    void Finish(absl::StatusOr<Reply> reply) override { writer_->Finish(std::move(reply)); }
    bool cancelled() const override { return writer_->cancelled(); }
    void OnCancel(std::function<void()> cancelled) override {
      writer_->OnCancel(std::move(cancelled));
    }

   private:
    const std::shared_ptr<Writer> writer_;
  };
  return std::make_shared<Stream>(std::move(writer));
}

}  // namespace bus

#endif  // BUS_CALL_REPLY_STREAM_H_
