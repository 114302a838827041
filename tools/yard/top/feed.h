#ifndef TOOLS_YARD_TOP_FEED_H_
#define TOOLS_YARD_TOP_FEED_H_

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "bus/event/subscriber.h"
#include "bus/thread/node.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/top/fact_reader.h"
#include "tools/yard/top/facts.h"
#include "tools/yard/top/model.h"

namespace yard::top {

// Reads facts repeatedly on a thread of its own: every second, and sooner after an event about a
// trial, job or service, or when another thing is selected. Thread-safe.
class Feed {
 public:
  struct Options {
    // Called on the feed's thread when new facts or an outcome can be taken.
    std::function<void()> on_news;
  };
  // Subscribes to events and starts the thread. `context` must outlive the feed.
  static absl::StatusOr<std::unique_ptr<Feed>> Start(Context& context, Options options);
  ~Feed();  // Gives up the pending calls.
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // Returns new facts once; null if none have arrived since the last call.
  std::shared_ptr<const Facts> TakeFacts();
  // Returns the outcome of an order once; empty if none is pending.
  std::string TakeSaid();
  // Selects the thing whose details the next facts include. Another thing causes a read at once.
  void Look(const Subject& subject);
  // Queues an order, to be carried out before the next read. At most 100 are queued.
  void Do(const Order& order);

 private:
  Feed(Context& context, Options options);
  // An event only makes the next read earlier; a lost event does no harm.
  void Subscribe(bus::Node* node);
  void Run();

  Context& context_;
  const Options options_;
  FactReader reader_;
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  bool due_ ABSL_GUARDED_BY(mutex_) = false;    // An event has arrived.
  bool hurry_ ABSL_GUARDED_BY(mutex_) = false;  // The user waits for the next read.
  Subject subject_ ABSL_GUARDED_BY(mutex_);
  std::deque<Order> orders_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const Facts> facts_ ABSL_GUARDED_BY(mutex_);
  std::string said_ ABSL_GUARDED_BY(mutex_);
  std::optional<bus::Subscriber> subscriber_;
  std::optional<runtime::Thread> thread_;  // Declared last, because it uses the others.
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_FEED_H_
