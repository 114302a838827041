#ifndef TOOLS_YARD_JSON_MESSAGE_JSON_H_
#define TOOLS_YARD_JSON_MESSAGE_JSON_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/envelope_generated.h"
#include "bus/schema/method.h"
#include "nlohmann/json.hpp"

namespace yard {

// Messages as JSON and back, by reflection over the shipped binary schema
// (bus/schema/envelope.bfbs): any message of any service, without code for it here.
class MessageJson {
 public:
  // Loads the schema (runtime::FindDataFile). NotFound says where it was looked for.
  static absl::StatusOr<std::unique_ptr<MessageJson>> Load();
  virtual ~MessageJson() = default;

  // The body of a verified envelope as an object that any JSON reader accepts: NaN and the
  // infinities as the strings "NaN", "Infinity", "-Infinity", integers beyond 2^53 as
  // strings too (also in a JSON payload), invalid UTF-8 replaced, states by their words
  // (bus/json/state_names.h), other enums by name, [ubyte] as base64
  // or as text where it is UTF-8. With payload instead of a body: {"payload": ..., "payload_type":
  // ...}.
  virtual nlohmann::json ToJson(const msg::Envelope& envelope) const = 0;
  // The same for an unpacked message.
  nlohmann::json ToJson(const msg::EnvelopeT& envelope) const;

  // An envelope whose body is table `type` ("JobsRequest") from relaxed JSON (unquoted names,
  // trailing commas). InvalidArgument gives line and column, and the known fields for an unknown
  // one.
  virtual absl::StatusOr<msg::EnvelopeT> FromJson(std::string_view type,
                                                  std::string_view json) const = 0;

  struct Method {
    bus::MethodInfo info;      // Views into this object's schema.
    std::string request_type;  // "JobsRequest"
    std::string reply_type;
    std::string comment;
    std::vector<std::string> request_fields;  // "job: string"
  };
  // Methods of `service` ("launcher") and those of every service, in the schema's order.
  virtual std::vector<Method> Methods(std::string_view service) const = 0;
  // NotFound names the methods there are.
  virtual absl::StatusOr<Method> FindMethod(std::string_view service,
                                            std::string_view method) const = 0;
  // "registry", "launcher", ...
  virtual std::vector<std::string> Services() const = 0;
};

}  // namespace yard

#endif  // TOOLS_YARD_JSON_MESSAGE_JSON_H_
