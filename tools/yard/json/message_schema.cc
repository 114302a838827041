#if defined(__GNUC__) && !defined(__clang__)
// With the sanitizers, GCC reports a false over-read in FlatBuffers' key comparison.
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif

#include "tools/yard/json/message_schema.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "bus/json/state_names.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/text/string_view.h"

namespace yard {
namespace {

using reflection::BaseType;

constexpr std::size_t kMaxSchemaBytes = 4 << 20;
// Pseudo-service whose methods every service has.
constexpr std::string_view kCommon = "common";

const char* BaseName(BaseType type) {
  static constexpr const char* kNames[] = {"none",   "byte",   "bool", "byte",  "ubyte", "short",
                                           "ushort", "int",    "uint", "long",  "ulong", "float",
                                           "double", "string", "list", "table", "union"};
  const auto index = static_cast<std::size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "?";
}

bus::Role RoleOf(std::string_view word) {
  if (word == "read") return bus::Role::kRead;
  if (word == "publish") return bus::Role::kPublish;
  return word == "control" ? bus::Role::kControl : bus::Role::kAdmin;
}

bus::Idempotency IdempotencyOf(std::string_view word) {
  if (word == "safe") return bus::Idempotency::kSafe;
  if (word == "idempotent") return bus::Idempotency::kIdempotent;
  return word == "stored" ? bus::Idempotency::kStored : bus::Idempotency::kRemembered;
}

std::string Attribute(const reflection::RPCCall& call, const char* name) {
  const auto* found = call.attributes() == nullptr ? nullptr : call.attributes()->LookupByKey(name);
  return found == nullptr || found->value() == nullptr ? "" : found->value()->str();
}

bool HasAttribute(const reflection::RPCCall& call, const char* name) {
  return call.attributes() != nullptr && call.attributes()->LookupByKey(name) != nullptr;
}

absl::Duration DefaultTimeout(const reflection::RPCCall& call) {
  std::int64_t milliseconds = 0;
  if (!absl::SimpleAtoi(Attribute(call, "deadline_ms"), &milliseconds)) return absl::Seconds(5);
  return milliseconds == 0 ? absl::InfiniteDuration() : absl::Milliseconds(milliseconds);
}

}  // namespace

std::string_view LastName(const flatbuffers::String* full) {
  const std::string_view name(full->data(), full->size());
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

absl::StatusOr<std::unique_ptr<MessageSchema>> MessageSchema::Load() {
  auto path = runtime::FindDataFile("bus/schema/envelope.bfbs");
  if (!path.ok()) return path.status();
  auto bytes = runtime::ReadFile(*path, kMaxSchemaBytes);
  if (!bytes.ok()) return bytes.status();
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes->data()),
                                 bytes->size());
  if (!reflection::VerifySchemaBuffer(verifier)) {
    return absl::InternalError(absl::StrCat("not a binary schema: ", *path));
  }
  std::unique_ptr<MessageSchema> schema(new MessageSchema(*std::move(bytes)));
  if (absl::Status status = schema->Check(); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(*path, ": ", status.message()));
  }
  return schema;
}

MessageSchema::MessageSchema(std::string bytes)
    : bytes_(std::move(bytes)), schema_(*reflection::GetSchema(bytes_.data())) {
  for (const auto* service : *schema_.services()) {
    const std::string name = absl::AsciiStrToLower(runtime::Absl(LastName(service->name())));
    if (name != kCommon) services_.push_back(name);
  }
  // These services have the common methods only, and no schema.
  services_.insert(services_.end(), {"web", "gate"});
}

// Checks that the file's unions are the same as those of this program.
absl::Status MessageSchema::Check() const {
  const auto* body = schema_.root_table() == nullptr
                         ? nullptr
                         : schema_.root_table()->fields()->LookupByKey("body");
  if (body == nullptr) return absl::InternalError("the schema has no message body");
  for (int i = 0; i <= static_cast<int>(msg::Body::MAX); ++i) {
    const auto* member = Member(*body->type(), i);
    if (member == nullptr || member->name()->str() != msg::EnumNamesBody()[i]) {
      return absl::InternalError("the schema is that of another version of this program");
    }
  }
  return absl::OkStatus();
}

// ---- Methods

std::vector<MessageSchema::Method> MessageSchema::Methods(std::string_view service) const {
  std::vector<Method> methods;
  for (const auto* entry : *schema_.services()) {
    const std::string name = absl::AsciiStrToLower(runtime::Absl(LastName(entry->name())));
    if (name != service) continue;
    for (const auto* call : *entry->calls()) methods.push_back(Describe(OwnedName(name), *call));
  }
  if (service == kCommon) return methods;
  for (Method& method : Methods(kCommon)) methods.push_back(std::move(method));
  return methods;
}

absl::StatusOr<MessageSchema::Method> MessageSchema::FindMethod(std::string_view service,
                                                                std::string_view name) const {
  if (std::find(services_.begin(), services_.end(), service) == services_.end()) {
    return absl::NotFoundError(absl::StrCat("no service ", runtime::Absl(service), "; there are ",
                                            absl::StrJoin(services_, ", ")));
  }
  std::vector<std::string> names;
  for (Method& method : Methods(service)) {
    if (method.info.name == name) return std::move(method);
    names.emplace_back(method.info.name);
  }
  return absl::NotFoundError(absl::StrCat("the ", runtime::Absl(service), " has no method ",
                                          runtime::Absl(name), "; it has ",
                                          absl::StrJoin(names, ", ")));
}

// Returns a view that lives as long as this object; empty for the common methods.
std::string_view MessageSchema::OwnedName(std::string_view service) const {
  const auto found = std::find(services_.begin(), services_.end(), service);
  return found == services_.end() ? std::string_view() : std::string_view(*found);
}

MessageSchema::Method MessageSchema::Describe(std::string_view service,
                                              const reflection::RPCCall& call) const {
  Method method{.info = {.service = service,
                         .name = {call.name()->data(), call.name()->size()},
                         .role = RoleOf(Attribute(call, "role")),
                         .idempotency = IdempotencyOf(Attribute(call, "idempotency")),
                         .default_timeout = DefaultTimeout(call),
                         .streaming = HasAttribute(call, "streaming"),
                         .runs_inline = HasAttribute(call, "inline")},
                .request_type = std::string(LastName(call.request()->name())),
                .reply_type = std::string(LastName(call.response()->name())),
                .comment = {},
                .request_fields = Fields(*call.request())};
  if (call.documentation() == nullptr) return method;
  for (const auto* line : *call.documentation()) {
    if (!method.comment.empty()) method.comment += ' ';
    absl::StrAppend(
        &method.comment,
        runtime::Absl({line->data(), line->size()}).substr(line->size() > 0 && (*line)[0] == ' '));
  }
  return method;
}

// ---- Types

const reflection::Object* MessageSchema::TableNamed(std::string_view name) const {
  return schema_.objects()->LookupByKey(("msg." + std::string(name)).c_str());
}

const reflection::Object& MessageSchema::TableAt(int index) const {
  return *schema_.objects()->Get(static_cast<unsigned>(index));
}

const reflection::Enum& MessageSchema::EnumAt(int index) const {
  return *schema_.enums()->Get(static_cast<unsigned>(index));
}

const reflection::EnumVal* MessageSchema::Member(const reflection::Type& type,
                                                 std::int64_t value) const {
  return type.index() < 0 ? nullptr : EnumAt(type.index()).values()->LookupByKey(value);
}

std::string MessageSchema::WordOf(const reflection::Type& type,
                                  const reflection::EnumVal& member) const {
  const char* const state = bus::StateNameOf(LastName(EnumAt(type.index()).name()), member.value());
  return state == nullptr ? member.name()->str() : state;
}

std::string MessageSchema::TypeName(const reflection::Type& type) const {
  return TypeName(type, type.base_type());
}

std::string MessageSchema::TypeName(const reflection::Type& type, BaseType base) const {
  if (base == reflection::Vector) return "[" + TypeName(type, type.element()) + "]";
  if (type.index() < 0) return BaseName(base);
  if (base == reflection::Obj) return std::string(LastName(TableAt(type.index()).name()));
  return std::string(LastName(EnumAt(type.index()).name()));
}
std::vector<std::string> MessageSchema::Fields(const reflection::Object& table) const {
  std::map<int, std::string> fields;
  for (const auto* field : *table.fields()) {
    fields[field->id()] = absl::StrCat(field->name()->str(), ": ", TypeName(*field->type()));
  }
  std::vector<std::string> result;
  for (auto& [id, text] : fields) result.push_back(std::move(text));
  return result;
}

}  // namespace yard
