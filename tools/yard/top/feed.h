#ifndef TOOLS_YARD_TOP_FEED_H_
#define TOOLS_YARD_TOP_FEED_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tools/yard/cli/context.h"
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
  virtual ~Feed() = default;  // Gives up the pending calls.

  // Returns new facts once; null if none have arrived since the last call.
  virtual std::shared_ptr<const Facts> TakeFacts() = 0;
  // Returns the outcome of an order once; empty if none is pending.
  virtual std::string TakeSaid() = 0;
  virtual void Look(const Subject& subject) = 0;
  // Queues an order, to be carried out before the next read. At most 100 are queued.
  virtual void Do(const Order& order) = 0;
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_FEED_H_
