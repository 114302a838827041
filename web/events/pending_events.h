#ifndef WEB_EVENTS_PENDING_EVENTS_H_
#define WEB_EVENTS_PENDING_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bus/schema/envelope_generated.h"
#include "nlohmann/json.hpp"

namespace web {

// Collects bus events until they are passed to the pages as the events of bus_topics.h. Keeps only
// the newest of several changes of a thing; merges points and lines of one source into one event.
// Not thread-safe.
class PendingEvents {
 public:
  // Takes an event of a page's topic; if `is_state`, the event must not be dropped.
  using OnEvent = std::function<void(const std::string& topic, std::string_view event,
                                     const nlohmann::json& data, bool is_state)>;
  // Called if an event of the topic is missing, or may be.
  using OnGap = std::function<void(const std::string& topic)>;

  // Adds a bus event that belongs to the page's topic. Ignores bodies of other kinds.
  void Add(const std::string& topic, const msg::Envelope& event);
  // Records that an event of the topic is missing, or may be.
  void AddGap(const std::string& topic) { gaps_.insert(topic); }
  // Returns true if there is neither an event nor a gap.
  bool empty() const;
  // Calls `on_event` for each event, then `on_gap` for each topic with a gap. A topic also has a
  // gap if more has arrived than one event may carry.
  void Tell(const OnEvent& on_event, const OnGap& on_gap) const;

 private:
  using Series = std::pair<std::string, std::string>;  // Topic, tag.
  // (topic, task, attempt, stream).
  using Source = std::tuple<std::string, std::string, std::uint32_t, msg::LogStream>;
  struct Lines {
    std::uint64_t end = 0;  // Offset after the last line.
    std::vector<std::string> lines = {};
  };
  struct Sweep {
    nlohmann::json sweep = {};
    std::map<std::uint64_t, nlohmann::json> trials = {};  // Newest state of each, by number.
  };

  void AddPoints(const std::string& topic, const msg::Points& points);
  void AddLines(const std::string& topic, const msg::LogLines& lines);
  void AddSweep(const std::string& topic, const msg::SweepEvent& event);

  std::map<Series, msg::PointsT> points_;
  std::map<Source, Lines> lines_;
  std::map<std::string, Sweep> sweeps_;  // Keyed by topic.
  // Keyed by id; services by name.
  std::map<std::string, nlohmann::json> trials_, jobs_, services_, sweep_news_, alerts_;
  std::set<std::string> gaps_;
};

// Limits of one event: points of a tag, lines of a stream, changed trials of a sweep. If more have
// arrived, the page is told to reload them.
inline constexpr std::size_t kMostPointsAtOnce = 1'024;
inline constexpr std::size_t kMostLinesAtOnce = 1'000;
inline constexpr std::size_t kMostTrialsAtOnce = 500;

}  // namespace web

#endif  // WEB_EVENTS_PENDING_EVENTS_H_
