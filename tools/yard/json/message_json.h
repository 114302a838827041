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

// Messages as JSON and back, by reflection over the shipped binary schema
// (bus/schema/envelope.bfbs): any message of any service, without code for it here.
class MessageJson {
 public:
  // Errors: as MessageSchema::Load().
  static absl::StatusOr<std::unique_ptr<MessageJson>> Load();

  // The body of a verified envelope as an object that any JSON reader accepts: NaN and the
  // infinities as the strings "NaN", "Infinity", "-Infinity", integers beyond 2^53 as
  // strings too (also in a JSON payload), invalid UTF-8 replaced, states by their words
  // (bus/json/state_names.h), other enums by name, [ubyte] as base64
  // or as text where it is UTF-8. With payload instead of a body: {"payload": ..., "payload_type":
  // ...}.
  nlohmann::json ToJson(const msg::Envelope& envelope) const;
  // The same for an unpacked message.
  nlohmann::json ToJson(const msg::EnvelopeT& envelope) const;

  // An envelope whose body is table `type` ("JobsRequest") from relaxed JSON (unquoted names,
  // trailing commas). InvalidArgument gives line and column, and the known fields for an unknown
  // one.
  absl::StatusOr<msg::EnvelopeT> FromJson(std::string_view type, std::string_view json) const;

  // The methods of the services.
  const MessageSchema& schema() const { return *schema_; }

 private:
  explicit MessageJson(std::unique_ptr<MessageSchema> schema) : schema_(std::move(schema)) {}

  const std::unique_ptr<MessageSchema> schema_;
};

}  // namespace yard

#endif  // TOOLS_YARD_JSON_MESSAGE_JSON_H_
