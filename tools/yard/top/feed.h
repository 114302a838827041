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

// Facts again and again, on a thread of its own: once a second, and sooner when an event tells of
// a trial, a job or a service, or something else is looked at. Any thread.
class Feed {
 public:
  struct Options {
    // On the feed's thread: something is new, take it.
    std::function<void()> on_news;
  };
  static absl::StatusOr<std::unique_ptr<Feed>> Start(Context& context, Options options);
  virtual ~Feed() = default;  // Gives up the calls under way.

  // The newest facts, once; null if no facts have come since.
  virtual std::shared_ptr<const Facts> TakeFacts() = 0;
  // The outcome of an order, once; empty if there is nothing to say.
  virtual std::string TakeSaid() = 0;
  virtual void Look(const Subject& subject) = 0;
  // To be done before the next look; at most 100 wait.
  virtual void Do(const Order& order) = 0;
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_FEED_H_
