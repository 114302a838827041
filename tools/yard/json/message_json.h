#ifndef TOOLS_YARD_JSON_MESSAGE_JSON_H_
#define TOOLS_YARD_JSON_MESSAGE_JSON_H_

#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "bus/schema/envelope_generated.h"
#include "nlohmann/json.hpp"
#include "tools/yard/json/message_schema.h"

namespace yard {

// Converts messages to JSON and back, by reflection over the shipped binary schema
// (bus/schema/envelope.bfbs): any message of any service, without code for each.
class MessageJson {
 public:
  // Errors as those of MessageSchema::Load().
  static absl::StatusOr<std::unique_ptr<MessageJson>> Load();

  // Returns the body of a verified envelope as an object that every JSON parser accepts:
  // NaN and infinities as the strings "NaN", "Infinity", "-Infinity"; integers beyond
  // 2^53 as strings (also inside a JSON payload); invalid UTF-8 replaced; states as their
  // words (bus/json/state_names.h), other enums by name; [ubyte] as text if it is UTF-8,
  // else as base64. A payload in place of a body becomes {"payload": ..., "payload_type":
  // ...}.
  nlohmann::json ToJson(const msg::Envelope& envelope) const;
  // The same for an unpacked message.
  nlohmann::json ToJson(const msg::EnvelopeT& envelope) const;

  // Returns an envelope whose body is table `type` ("JobsRequest"), from relaxed JSON (unquoted
  // names, trailing commas). InvalidArgument has line and column, and for an unknown field the
  // known ones.
  absl::StatusOr<msg::EnvelopeT> FromJson(std::string_view type, std::string_view json) const;

  // Schema of the messages, with the services' methods.
  const MessageSchema& schema() const { return *schema_; }

 private:
  explicit MessageJson(std::unique_ptr<MessageSchema> schema) : schema_(std::move(schema)) {}

  const std::unique_ptr<MessageSchema> schema_;
};

}  // namespace yard

#endif  // TOOLS_YARD_JSON_MESSAGE_JSON_H_
