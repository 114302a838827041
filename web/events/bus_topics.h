#ifndef WEB_EVENTS_BUS_TOPICS_H_
#define WEB_EVENTS_BUS_TOPICS_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "bus/event/subscriber.h"
#include "bus/thread/node.h"
#include "runtime/event_loop.h"
#include "runtime/mutex.h"
#include "runtime/timer.h"
#include "web/events/pending_events.h"

namespace web {

// Topics that a page may follow, and the events of the bus behind each topic:
//
//   yard      t/, s/launcher/, $sys/reg/, a/
//                                          "trial", "sweep", "job", "service": the changed thing;
//                                          "alert": a new one, or one that was acknowledged
//   sweep:ID  t/ID/                        "sweep": {"sweep", "trials": the changed trials}
//   run:NAME  m/NAME/                      "points": {"run", "tag", "steps", "times", "values"}
//   logs:JOB  l/JOB/                       "lines": {"task", "attempt", "stream", "end", "lines"}
//
// Several changes of a thing within a pace become one, so a page gets at most four updates a
// second. Used on the loop's thread; only the collection of events runs on the bus thread.
class BusTopics {
 public:
  struct Options {
    bus::Node* node = nullptr;  // Not owned; node and loop outlive this object.
    runtime::EventLoop* loop = nullptr;
    absl::Duration pace = absl::Milliseconds(250);
    PendingEvents::OnEvent on_event = {};
    PendingEvents::OnGap on_gap = {};
  };
  explicit BusTopics(Options options);
  ~BusTopics();
  BusTopics(const BusTopics&) = delete;
  BusTopics& operator=(const BusTopics&) = delete;

  // Subscribes to the bus events of the topic. Reports a gap at each connection to the hub. Ignores
  // unknown topics.
  void Follow(const std::string& topic);
  // Unsubscribes from the bus events of the topic.
  void Unfollow(const std::string& topic);

 private:
  // Runs on the bus thread.
  void AddGap(const std::string& topic);
  void HandOnLater() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Runs on the loop's thread.
  void HandOn();

  const Options options_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // Used on the loop's thread.
  runtime::Timer pace_;                                               // Used on the loop's thread.

  runtime::Mutex mutex_;
  PendingEvents pending_ ABSL_GUARDED_BY(mutex_);
  bool is_armed_ ABSL_GUARDED_BY(mutex_) = false;

  // Declared last, so that callbacks end before the members that they use. Used on the loop's
  // thread.
  std::map<std::string, std::unique_ptr<bus::Subscriber>> followed_;
};

// Returns true if pages may follow `topic`.
bool IsTopic(std::string_view topic);
// Returns the prefixes of the bus topics that feed `topic`.
std::vector<std::string> BusPrefixesOf(std::string_view topic);

}  // namespace web

#endif  // WEB_EVENTS_BUS_TOPICS_H_
