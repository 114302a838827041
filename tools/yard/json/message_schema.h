#ifndef TOOLS_YARD_JSON_MESSAGE_SCHEMA_H_
#define TOOLS_YARD_JSON_MESSAGE_SCHEMA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/envelope_generated.h"
#include "bus/schema/method.h"
#include "flatbuffers/reflection.h"

namespace yard {

// The shipped binary schema (bus/schema/envelope.bfbs): the tables of all messages and the methods
// of all services. Any thread.
class MessageSchema {
 public:
  // Loads the schema (runtime::FindDataFile). NotFound says where it searched; Internal if the file
  // does not match this program.
  static absl::StatusOr<std::unique_ptr<MessageSchema>> Load();
  MessageSchema(const MessageSchema&) = delete;
  MessageSchema& operator=(const MessageSchema&) = delete;

  struct Method {
    bus::MethodInfo info;      // Views into the schema.
    std::string request_type;  // "JobsRequest"
    std::string reply_type;
    std::string comment;
    std::vector<std::string> request_fields;  // "job: string"
  };
  // Returns the methods of `service` ("launcher") and the common ones, in the schema's order.
  std::vector<Method> Methods(std::string_view service) const;
  // NotFound lists the existing methods.
  absl::StatusOr<Method> FindMethod(std::string_view service, std::string_view method) const;
  // Returns "registry", "launcher", ...
  const std::vector<std::string>& Services() const { return services_; }

  // Returns the bytes of the file.
  const std::string& bytes() const { return bytes_; }
  // Returns the table of a message ("JobsRequest"); null if it does not exist.
  const reflection::Object* TableNamed(std::string_view name) const;
  // Look up by the index in a reflection::Type, which must be a table or an enum.
  const reflection::Object& TableAt(int index) const;
  const reflection::Enum& EnumAt(int index) const;
  // Returns the member of an enum or union; null if the type has no such value.
  const reflection::EnumVal* Member(const reflection::Type& type, std::int64_t value) const;
  // Returns the word for a state (bus/json/state_names.h), or the schema's name of any other enum
  // member.
  std::string WordOf(const reflection::Type& type, const reflection::EnumVal& member) const;
  // Returns "uint", "[string]", "JobState".
  std::string TypeName(const reflection::Type& type) const;
  // Returns "ranks: [uint]" and so on, in the schema's order.
  std::vector<std::string> Fields(const reflection::Object& table) const;

 private:
  explicit MessageSchema(std::string bytes);
  absl::Status Check() const;
  std::string_view OwnedName(std::string_view service) const;
  Method Describe(std::string_view service, const reflection::RPCCall& call) const;
  std::string TypeName(const reflection::Type& type, reflection::BaseType base) const;

  const std::string bytes_;
  const reflection::Schema& schema_;
  std::vector<std::string> services_;
};

// Turns "msg.JobsRequest" into "JobsRequest".
std::string_view LastName(const flatbuffers::String* full);

}  // namespace yard

#endif  // TOOLS_YARD_JSON_MESSAGE_SCHEMA_H_
