#ifndef WEB_EVENTS_BUS_TOPICS_H_
#define WEB_EVENTS_BUS_TOPICS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "bus/thread/node.h"
#include "nlohmann/json.hpp"
#include "runtime/event_loop.h"

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
// Several changes of a thing within a pace become one: a page is told at most four times a second.
// On the loop's thread, except that the bus's thread collects events.
class BusTopics {
 public:
  struct Options {
    bus::Node* node = nullptr;  // Not owned; node and loop outlive this object.
    runtime::EventLoop* loop = nullptr;
    absl::Duration pace = absl::Milliseconds(250);
    // An event of a topic; `is_state`: none of these events may be left out.
    std::function<void(const std::string& topic, std::string_view event, const nlohmann::json& data,
                       bool is_state)>
        on_event = {};
    // An event of the topic is missing, or may have been missed before the first one.
    std::function<void(const std::string& topic)> on_gap = {};
  };
  static std::unique_ptr<BusTopics> Create(Options options);
  virtual ~BusTopics() = default;

  virtual void Follow(const std::string& topic) = 0;
  virtual void Unfollow(const std::string& topic) = 0;
};

// Whether `topic` is one that a page may follow.
bool IsTopic(std::string_view topic);
// Prefixes of the bus's topics that feed `topic`.
std::vector<std::string> BusPrefixesOf(std::string_view topic);

// Most points of one tag and most lines of one task that one pace tells; if more have come, the
// page is told to ask anew.
inline constexpr std::size_t kMostPointsAtOnce = 1'024;
inline constexpr std::size_t kMostLinesAtOnce = 1'000;
inline constexpr std::size_t kMostTrialsAtOnce = 500;  // Most changed trials of a sweep.

}  // namespace web

#endif  // WEB_EVENTS_BUS_TOPICS_H_
