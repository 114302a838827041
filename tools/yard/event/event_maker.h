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

// Makes the events of one topic out of texts, for `yard pub`. Any thread.
class EventMaker {
 public:
  struct Options {
    std::string topic;
    bool raw = false;  // Text is sent as it is; `type` is not looked at.
    // A message of the bus ("TrialEvent") that JSON is made to; empty: JSON is sent as it is.
    std::string type = {};
    const MessageJson* messages = nullptr;  // Not owned; needed with a type.
  };
  explicit EventMaker(Options options) : options_(std::move(options)) {}

  // InvalidArgument with line and column for what is not JSON, or not of the type; NotFound for a
  // type that does not exist, with the one that may be meant.
  absl::StatusOr<std::unique_ptr<msg::NewEventT>> Make(const std::string& text) const;

 private:
  const Options options_;
};

// InvalidArgument: no JSON, with its place.
absl::Status CheckJson(const std::string& text);

}  // namespace yard

#endif  // TOOLS_YARD_EVENT_EVENT_MAKER_H_
