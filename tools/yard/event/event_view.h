#ifndef TOOLS_YARD_EVENT_EVENT_VIEW_H_
#define TOOLS_YARD_EVENT_EVENT_VIEW_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/schema/envelope_generated.h"
#include "nlohmann/json.hpp"
#include "tools/yard/cli/topic_pattern.h"
#include "tools/yard/json/json_filter.h"
#include "tools/yard/json/json_path.h"
#include "tools/yard/json/message_json.h"

namespace yard {

// Selects and formats the events that `yard sub` prints. Any thread.
class EventView {
 public:
  struct Options {
    std::vector<std::string> topics;
    std::vector<std::string> fields;
    std::string filter;
    bool json = false;
    bool for_terminal = false;                  // Escapes what could control a terminal.
    bool timestamps = false;                    // Adds the time of sending and the latency.
    absl::TimeZone zone = absl::UTCTimeZone();  // Time zone of times outside of JSON.
    // Called with a line for each path of the filter that none of the first events has had. Runs on
    // the thread that passes in events.
    std::function<void(std::string line)> on_missing = {};
  };
  // InvalidArgument names the wrong option and its error.
  static absl::StatusOr<EventView> Make(const Options& options);

  // Returns the topic prefixes to subscribe to.
  std::vector<std::string> Prefixes() const;
  // Returns true if the topic matches; the topic of a loss may be only a prefix of matching topics.
  bool Wants(std::string_view topic) const;
  // Returns true if the event matches, for recording it unchanged.
  bool Passes(const MessageJson& messages, std::string_view topic,
              const msg::Envelope& event) const;
  // Formats an event: "TOPIC  {...}", or with JSON one object with everything about it. With one
  // field, returns its value alone (or in place of the body); with several, their values separated
  // by tabs, or as an object. Returns nothing for events that do not match or have none of the
  // fields. An event with several results has one line for each.
  std::vector<std::string> LinesOf(const MessageJson& messages, std::string_view topic,
                                   const msg::Envelope& event, absl::Time heard) const;
  // Returns the lines about missing paths that on_missing has not reported; call after the last
  // event.
  std::vector<std::string> Missing() const;

 private:
  class Places;

  bool Matches(std::string_view topic) const;
  std::optional<std::string> LineOf(std::string_view topic, const msg::Envelope& event,
                                    absl::Time heard, nlohmann::json body) const;
  // Returns nothing if the body has none of the fields.
  std::optional<nlohmann::json> FieldsOf(const nlohmann::json& body) const;
  std::string Text(std::string_view topic, const msg::Envelope& event, absl::Time heard,
                   const nlohmann::json& body) const;
  std::string Object(std::string_view topic, const msg::Envelope& event, absl::Time heard,
                     nlohmann::json body) const;

  std::vector<TopicPattern> patterns_;
  struct Field {
    std::string text;  // As typed.
    JsonPath place;
  };
  std::vector<Field> fields_;
  std::optional<JsonFilter> filter_;
  std::shared_ptr<Places> places_;  // Paths of the filter.
  bool json_ = false;
  bool for_terminal_ = false;
  bool timestamps_ = false;
  absl::TimeZone zone_;
};

}  // namespace yard

#endif  // TOOLS_YARD_EVENT_EVENT_VIEW_H_
