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

// Events of the bus that pages have not been told yet, as the events of bus_topics.h. Several
// changes of a thing become one, its newest; points and lines of one source are told together. Not
// thread safe.
class PendingEvents {
 public:
  // An event of a page's topic; `is_state`: none of these events may be left out.
  using OnEvent = std::function<void(const std::string& topic, std::string_view event,
                                     const nlohmann::json& data, bool is_state)>;
  // An event of the topic is missing, or may have been missed.
  using OnGap = std::function<void(const std::string& topic)>;

  // Adds an event of the bus that belongs to the page's topic. Bodies of other kinds are ignored.
  void Add(const std::string& topic, const msg::Envelope& event);
  void AddGap(const std::string& topic) { gaps_.insert(topic); }
  bool empty() const;
  // Calls `on_event` for each event, then `on_gap` for each topic with a gap. A topic has a gap,
  // too, if more has come than one event may tell.
  void Tell(const OnEvent& on_event, const OnGap& on_gap) const;

 private:
  using Series = std::pair<std::string, std::string>;  // Topic, tag.
  // Topic, task, attempt, stream.
  using Source = std::tuple<std::string, std::string, std::uint32_t, msg::LogStream>;
  struct Lines {
    std::uint64_t end = 0;  // Offset behind the last line.
    std::vector<std::string> lines = {};
  };
  struct Sweep {
    nlohmann::json sweep = {};
    std::map<std::uint64_t, nlohmann::json> trials = {};  // By number; the newest state of each.
  };

  void AddPoints(const std::string& topic, const msg::Points& points);
  void AddLines(const std::string& topic, const msg::LogLines& lines);
  void AddSweep(const std::string& topic, const msg::SweepEvent& event);

  std::map<Series, msg::PointsT> points_;
  std::map<Source, Lines> lines_;
  std::map<std::string, Sweep> sweeps_;  // By topic.
  // By id; services by name.
  std::map<std::string, nlohmann::json> trials_, jobs_, services_, sweep_news_, alerts_;
  std::set<std::string> gaps_;
};

// Most points of one tag, lines of one stream and changed trials of a sweep that one event tells;
// if more have come, the page is told to ask anew.
inline constexpr std::size_t kMostPointsAtOnce = 1'024;
inline constexpr std::size_t kMostLinesAtOnce = 1'000;
inline constexpr std::size_t kMostTrialsAtOnce = 500;

}  // namespace web

#endif  // WEB_EVENTS_PENDING_EVENTS_H_
