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

// Selects the events that `yard sub` prints, and renders them. Any thread.
class EventView {
 public:
  struct Options {
    std::vector<std::string> topics;
    std::vector<std::string> fields;
    std::string filter;
    bool json = false;
    bool for_terminal = false;                  // JSON that cannot drive one.
    bool timestamps = false;                    // When it was sent, and how long it was on its way.
    absl::TimeZone zone = absl::UTCTimeZone();  // Zone of times that are no JSON.
    // Gets a line for each place of the filter that none of the first events has had. On the
    // thread that brings an event.
    std::function<void(std::string line)> on_missing = {};
  };
  // InvalidArgument: what is wrong with one of them.
  static absl::StatusOr<EventView> Make(const Options& options);

  std::vector<std::string> Prefixes() const;
  // The topic of a loss may be a beginning of topics.
  bool Wants(std::string_view topic) const;
  // Is the event to be kept as it is?
  bool Passes(const MessageJson& messages, std::string_view topic,
              const msg::Envelope& event) const;
  // "TOPIC  {...}", or one object with everything about the event; with a field its value alone,
  // or instead of the body; with several, their values with tabs between them, or as an object; an
  // event that has none of the fields is not wanted. Nothing: it is not wanted. An event with
  // several results has a line for each.
  std::vector<std::string> LinesOf(const MessageJson& messages, std::string_view topic,
                                   const msg::Envelope& event, absl::Time heard) const;
  // The same lines, if they have not been told: no more events come.
  std::vector<std::string> Missing() const;

 private:
  class Places;

  bool Matches(std::string_view topic) const;
  std::optional<std::string> LineOf(std::string_view topic, const msg::Envelope& event,
                                    absl::Time heard, nlohmann::json body) const;
  // Nothing: the body has none of the fields.
  std::optional<nlohmann::json> FieldsOf(const nlohmann::json& body) const;
  std::string Text(std::string_view topic, const msg::Envelope& event, absl::Time heard,
                   const nlohmann::json& body) const;
  std::string Object(std::string_view topic, const msg::Envelope& event, absl::Time heard,
                     nlohmann::json body) const;

  std::vector<TopicPattern> patterns_;
  struct Field {
    std::string text;  // As it was asked for.
    JsonPath place;
  };
  std::vector<Field> fields_;
  std::unique_ptr<JsonFilter> filter_;
  std::shared_ptr<Places> places_;  // Places of the filter.
  bool json_ = false;
  bool for_terminal_ = false;
  bool timestamps_ = false;
  absl::TimeZone zone_;
};

}  // namespace yard

#endif  // TOOLS_YARD_EVENT_EVENT_VIEW_H_
