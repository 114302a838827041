#ifndef TOOLS_YARD_EVENT_EVENT_MAKER_H_
#define TOOLS_YARD_EVENT_EVENT_MAKER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/envelope_generated.h"
#include "tools/yard/json/message_json.h"

namespace yard {

// Makes the events of one topic from texts, for `yard pub`. Any thread.
class EventMaker {
 public:
  struct Options {
    std::string topic;
    bool raw = false;  // Publishes text unchanged; `type` is ignored.
    // Message type ("TrialEvent") that JSON is converted to; if empty, JSON is published as it is.
    std::string type = {};
    const MessageJson* messages = nullptr;  // Not owned; needed with a type.
  };
  explicit EventMaker(Options options) : options_(std::move(options)) {}

  // InvalidArgument, with line and column, for invalid JSON or JSON that does not fit the type;
  // NotFound for an unknown type, with the nearest known one.
  absl::StatusOr<std::unique_ptr<msg::NewEventT>> Make(const std::string& text) const;

 private:
  const Options options_;
};

// InvalidArgument, with the position, if `text` is not JSON.
absl::Status CheckJson(const std::string& text);

}  // namespace yard

#endif  // TOOLS_YARD_EVENT_EVENT_MAKER_H_
