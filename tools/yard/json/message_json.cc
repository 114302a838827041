#if defined(__GNUC__) && !defined(__clang__)
// With the sanitizers on, GCC takes FlatBuffers' key comparison for an over-read of its table type.
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif

#include "tools/yard/json/message_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "bus/json/exact_json.h"
#include "bus/json/state_names.h"
#include "flatbuffers/idl.h"
#include "flatbuffers/reflection.h"
#include "re2/re2.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/text/json_number.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

namespace yard {
namespace {

using flatbuffers::Table;
using nlohmann::json;
using reflection::BaseType;

constexpr std::size_t kMaxSchemaBytes = 4 << 20;
constexpr std::size_t kMaxTextBytes = 1 << 20;
// Deeper JSON of a user stays text: readers and printers of it recurse.
constexpr int kMaxDepth = 100;
// Words for states in one text: each costs a parse.
constexpr int kMaxStates = 100;

// "msg.JobsRequest" -> "JobsRequest"
std::string_view LastName(const flatbuffers::String* full) {
  const std::string_view name(full->data(), full->size());
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

json Real(double value) {
  if (!std::isfinite(value)) return runtime::NotFiniteWord(value);
  return value;
}

// The number that a float stands for: the shortest decimal one that reads back as that float.
double Shortest(float value) {
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), value).ptr;
  double result = value;
  std::from_chars(text, end, result);
  return result;
}

json Text(std::string_view text) { return runtime::ValidUtf8(text); }

json Bytes(std::string_view bytes) {
  const bool is_text = runtime::IsUtf8(bytes) && bytes.find('\0') == bytes.npos;
  if (is_text) return std::string(bytes);
  return {{"base64", absl::Base64Escape(runtime::Absl(bytes))}};
}

int DepthOf(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return deepest;
}

json Payload(std::string_view bytes, std::string_view type) {
  if (type == "application/json" && DepthOf(bytes) <= kMaxDepth) {
    json parsed = bus::ParseExactJson(bytes);
    if (!parsed.is_discarded()) return parsed;
  }
  return Bytes(bytes);
}

// Reads tables of one schema.
class Walk {
 public:
  explicit Walk(const reflection::Schema* schema) : schema_(*schema) {}

  json Object(const Table& table, const reflection::Object& type) const {
    json result = json::object();
    for (const auto* field : *type.fields()) {
      json value = Field(table, type, *field);
      if (!value.is_null()) result[field->name()->str()] = std::move(value);
    }
    return result;
  }
  const reflection::EnumVal* Member(const reflection::Type& type, std::int64_t value) const {
    if (type.index() < 0) return nullptr;
    return schema_.enums()->Get(static_cast<unsigned>(type.index()))->values()->LookupByKey(value);
  }
  // The word for a state, the schema's name for a member of another enum.
  std::string WordOf(const reflection::Type& type, const reflection::EnumVal& member) const {
    const auto* const of = schema_.enums()->Get(static_cast<unsigned>(type.index()));
    const char* const state = bus::StateNameOf(LastName(of->name()), member.value());
    return state == nullptr ? member.name()->str() : state;
  }
  const reflection::Object& ObjectAt(int index) const {
    return *schema_.objects()->Get(static_cast<unsigned>(index));
  }

 private:
  // Null: leave it out.
  json Field(const Table& table, const reflection::Object& parent,
             const reflection::Field& field) const {
    const reflection::Type& type = *field.type();
    switch (type.base_type()) {
      case reflection::String: {
        const auto* text = flatbuffers::GetFieldS(table, field);
        return text == nullptr ? json("") : Text({text->data(), text->size()});
      }
      case reflection::Vector:
        return Elements(flatbuffers::GetFieldAnyV(table, field), type);
      case reflection::Obj:
        return Nested(table, field);
      case reflection::Union:
        return UnionValue(table, parent, field);
      default:
        return Scalar(table, field);
    }
  }

  json Scalar(const Table& table, const reflection::Field& field) const {
    const reflection::Type& type = *field.type();
    if (flatbuffers::IsFloat(type.base_type())) {
      const double value = flatbuffers::GetAnyFieldF(table, field);
      return Real(type.base_type() == reflection::Float ? Shortest(static_cast<float>(value))
                                                        : value);
    }
    return Integer(flatbuffers::GetAnyFieldI(table, field), type, type.base_type());
  }
  json Integer(std::int64_t value, const reflection::Type& type, BaseType base) const {
    if (base == reflection::Bool) return value != 0;
    const reflection::EnumVal* const member = Member(type, value);
    if (member != nullptr) return WordOf(type, *member);
    return bus::ExactJson(base == reflection::ULong ? json(static_cast<std::uint64_t>(value))
                                                    : json(value));
  }

  json Nested(const Table& table, const reflection::Field& field) const {
    const reflection::Object& type = ObjectAt(field.type()->index());
    if (type.is_struct()) return nullptr;  // No message body has one.
    const Table* const nested = flatbuffers::GetFieldT(table, field);
    return nested == nullptr ? json(nullptr) : Object(*nested, type);
  }

  json UnionValue(const Table& table, const reflection::Object& parent,
                  const reflection::Field& field) const {
    const Table* const value = flatbuffers::GetFieldT(table, field);
    const auto* tag = parent.fields()->LookupByKey(
        (field.name()->str() + flatbuffers::UnionTypeFieldSuffix()).c_str());
    if (value == nullptr || tag == nullptr) return nullptr;
    const auto* member = Member(*field.type(), flatbuffers::GetAnyFieldI(table, *tag));
    if (member == nullptr || member->union_type() == nullptr) return nullptr;
    return Object(*value, ObjectAt(member->union_type()->index()));
  }

  json Elements(const flatbuffers::VectorOfAny* vector, const reflection::Type& type) const {
    const BaseType element = type.element();
    if (element == reflection::UByte && type.index() < 0) {
      return vector == nullptr
                 ? json("")
                 : Bytes({reinterpret_cast<const char*>(vector->Data()), vector->size()});
    }
    json result = json::array();
    if (vector == nullptr) return result;
    if (element == reflection::Union || element == reflection::Vector) return nullptr;
    if (element == reflection::Obj && ObjectAt(type.index()).is_struct()) return nullptr;
    for (std::size_t i = 0; i < vector->size(); ++i) result.push_back(Element(*vector, i, type));
    return result;
  }
  json Element(const flatbuffers::VectorOfAny& vector, std::size_t i,
               const reflection::Type& type) const {
    switch (type.element()) {
      case reflection::String: {
        const auto* text =
            flatbuffers::GetAnyVectorElemPointer<const flatbuffers::String>(&vector, i);
        return Text({text->data(), text->size()});
      }
      case reflection::Obj:
        return Object(*flatbuffers::GetAnyVectorElemPointer<const Table>(&vector, i),
                      ObjectAt(type.index()));
      case reflection::Float:
        return Real(Shortest(
            static_cast<float>(flatbuffers::GetAnyVectorElemF(&vector, type.element(), i))));
      case reflection::Double:
        return Real(flatbuffers::GetAnyVectorElemF(&vector, type.element(), i));
      default:
        return Integer(flatbuffers::GetAnyVectorElemI(&vector, type.element(), i), type,
                       type.element());
    }
  }

  const reflection::Schema& schema_;
};

// Where a JSON text stands at `offset`: the names of the objects around it.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;
  std::vector<std::string> path;
};

// Walks over relaxed JSON up to the first `name:` whose name is not a field there, by the
// parser's own rules for what a name is.
class NameScan {
 public:
  explicit NameScan(std::string_view text) : text_(text) {}
  std::size_t at() const { return at_; }  // The byte behind what was read.

  // The next name before a colon, with its place; false at the end.
  bool Next(std::string* name, Place* place) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        Keep(Quoted(c));
      } else if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_') {
        Keep(Word());
      } else if (text_.substr(at_, 2) == "//" || text_.substr(at_, 2) == "/*") {
        SkipComment();
      } else {
        ++at_;
        if (c == '[') lists_.emplace_back(path_.size(), name_);
        if (c == ']' && !lists_.empty()) lists_.pop_back();
        if (c == '{') path_.push_back(IsInList() ? lists_.back().second : name_);
        if (c == '}' && !path_.empty()) path_.pop_back();
        if (c != ':') continue;
        *name = name_;
        *place = PlaceOfName();
        return true;
      }
    }
    return false;
  }

 private:
  void Keep(std::string name) { name_ = std::move(name); }
  bool IsInList() const { return !lists_.empty() && lists_.back().first == path_.size(); }
  std::string Quoted(char quote) {
    name_at_ = at_++;
    std::string result;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\') ++at_;
      if (at_ < text_.size()) result.push_back(text_[at_++]);
    }
    ++at_;
    return result;
  }
  std::string Word() {
    name_at_ = at_;
    while (at_ < text_.size() &&
           (absl::ascii_isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) {
      ++at_;
    }
    return std::string(text_.substr(name_at_, at_ - name_at_));
  }
  void SkipComment() {
    const bool line = text_[at_ + 1] == '/';
    const std::size_t end = text_.find(line ? "\n" : "*/", at_ + 2);
    at_ = end == std::string_view::npos ? text_.size() : end + (line ? 1 : 2);
  }
  Place PlaceOfName() const {
    Place place;
    const std::string_view before = text_.substr(0, name_at_);
    place.line += static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
    const std::size_t newline = before.rfind('\n');
    place.column += newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
    // The outermost object has no name.
    if (path_.size() > 1) place.path.assign(path_.begin() + 1, path_.end());
    return place;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t name_at_ = 0;
  std::string name_;
  std::vector<std::string> path_;
  // Lists that are open: the objects around each, and its name, which all its objects have.
  std::vector<std::pair<std::size_t, std::string>> lists_;
};

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

class SchemaMessageJson : public MessageJson {
 public:
  explicit SchemaMessageJson(std::string schema)
      : text_(std::move(schema)), schema_(reflection::GetSchema(text_.data())), walk_(schema_) {
    for (const auto* service : *schema_->services()) {
      const std::string name = absl::AsciiStrToLower(runtime::Absl(LastName(service->name())));
      if (name != kCommon) services_.push_back(name);
    }
    // These have the methods of every service, and no schema.
    services_.insert(services_.end(), {"web", "gate"});
  }

  // The library's unions are this program's own.
  absl::Status Check() const {
    const auto* body = schema_->root_table() == nullptr
                           ? nullptr
                           : schema_->root_table()->fields()->LookupByKey("body");
    if (body == nullptr) return absl::InternalError("the schema has no message body");
    for (int i = 0; i <= static_cast<int>(msg::Body::MAX); ++i) {
      const auto* member = walk_.Member(*body->type(), i);
      if (member == nullptr || member->name()->str() != msg::EnumNamesBody()[i]) {
        return absl::InternalError("the schema is that of another version of this program");
      }
    }
    return absl::OkStatus();
  }

  json ToJson(const msg::Envelope& envelope) const override {
    if (envelope.payload() != nullptr && envelope.body_type() == msg::Body::NONE) {
      const auto* type = envelope.payload_type();
      const std::string_view kind =
          type == nullptr ? "" : std::string_view(type->data(), type->size());
      const auto* bytes = envelope.payload();
      return {
          {"payload", Payload({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, kind)},
          {"payload_type", Text(kind)}};
    }
    const auto* type = TableNamed(msg::EnumNameBody(envelope.body_type()));
    if (type == nullptr || envelope.body() == nullptr) return json::object();
    return walk_.Object(*static_cast<const Table*>(envelope.body()), *type);
  }

  absl::StatusOr<msg::EnvelopeT> FromJson(std::string_view type,
                                          std::string_view text) const override {
    const auto* table = TableNamed(type);
    const msg::Body body = BodyNamed(type);
    if (table == nullptr || body == msg::Body::NONE) {
      return absl::NotFoundError(absl::StrCat("no message type ", runtime::Absl(type)));
    }
    if (text.size() > kMaxTextBytes) return absl::InvalidArgumentError("over 1 MiB of JSON");
    if (text.find('\0') != std::string_view::npos) {
      return absl::InvalidArgumentError("the JSON has a zero byte");
    }
    flatbuffers::Parser parser;
    if (!parser.Deserialize(reinterpret_cast<const std::uint8_t*>(text_.data()), text_.size()) ||
        !parser.SetRootType(table->name()->c_str())) {
      return absl::InternalError("cannot read the schema");
    }
    std::string spelled(text);
    for (int states = 0; !parser.ParseJson(spelled.c_str()); ++states) {
      if (states < kMaxStates && SpellState(*table, parser.error_, &spelled)) continue;
      return absl::InvalidArgumentError(Explain(spelled, *table, parser.error_));
    }
    msg::EnvelopeT envelope;
    envelope.body.type = body;
    envelope.body.value = msg::BodyUnion::UnPack(
        flatbuffers::GetRoot<Table>(parser.builder_.GetBufferPointer()), body, nullptr);
    return envelope;
  }

  std::vector<Method> Methods(std::string_view service) const override {
    std::vector<Method> methods;
    for (const auto* entry : *schema_->services()) {
      const std::string name = absl::AsciiStrToLower(runtime::Absl(LastName(entry->name())));
      if (name != service) continue;
      for (const auto* call : *entry->calls()) methods.push_back(Describe(OwnedName(name), *call));
    }
    if (service == kCommon) return methods;
    for (Method& method : Methods(kCommon)) methods.push_back(std::move(method));
    return methods;
  }

  absl::StatusOr<Method> FindMethod(std::string_view service,
                                    std::string_view name) const override {
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

  std::vector<std::string> Services() const override { return services_; }

 private:
  static constexpr std::string_view kCommon = "common";

  const reflection::Object* TableNamed(std::string_view name) const {
    return schema_->objects()->LookupByKey(("msg." + std::string(name)).c_str());
  }
  static msg::Body BodyNamed(std::string_view name) {
    for (const msg::Body body : msg::EnumValuesBody()) {
      if (body != msg::Body::NONE && name == msg::EnumNameBody(body)) return body;
    }
    return msg::Body::NONE;
  }
  // A view that lives as long as this object; empty for the methods of every service.
  std::string_view OwnedName(std::string_view service) const {
    const auto found = std::find(services_.begin(), services_.end(), service);
    return found == services_.end() ? std::string_view() : std::string_view(*found);
  }

  Method Describe(std::string_view service, const reflection::RPCCall& call) const {
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
      absl::StrAppend(&method.comment, runtime::Absl({line->data(), line->size()})
                                           .substr(line->size() > 0 && (*line)[0] == ' '));
    }
    return method;
  }

  std::string TypeName(const reflection::Type& type, BaseType base) const {
    if (base == reflection::Vector) return "[" + TypeName(type, type.element()) + "]";
    if (type.index() < 0) return BaseName(base);
    if (base == reflection::Obj) return std::string(LastName(walk_.ObjectAt(type.index()).name()));
    return std::string(
        LastName(schema_->enums()->Get(static_cast<unsigned>(type.index()))->name()));
  }
  // In the order in which the schema has them.
  std::vector<std::string> Fields(const reflection::Object& type) const {
    std::map<int, std::string> fields;
    for (const auto* field : *type.fields()) {
      fields[field->id()] = absl::StrCat(field->name()->str(), ": ",
                                         TypeName(*field->type(), field->type()->base_type()));
    }
    std::vector<std::string> result;
    for (auto& [id, text] : fields) result.push_back(std::move(text));
    return result;
  }

  // The table that `path` leads to from `type`; null if it leads nowhere.
  const reflection::Object* Follow(const reflection::Object& type,
                                   const std::vector<std::string>& path) const {
    const reflection::Object* at = &type;
    for (const std::string& name : path) {
      const auto* field = at->fields()->LookupByKey(name.c_str());
      if (field == nullptr || field->type()->index() < 0) return nullptr;
      const BaseType base = field->type()->base_type();
      if (base != reflection::Obj && field->type()->element() != reflection::Obj) return nullptr;
      at = &walk_.ObjectAt(field->type()->index());
    }
    return at;
  }

  // `error` is the parser's "LINE: COLUMN: error: WORDS".
  std::string Explain(std::string_view text, const reflection::Object& type,
                      const std::string& error) const {
    std::size_t line = 0;
    std::size_t column = 0;
    std::string words;
    if (!RE2::FullMatch(error, R"((?s)(\d+): (\d+): error: (.*))", &line, &column, &words)) {
      return error;
    }
    if (absl::StartsWith(words, "unknown field")) {
      NameScan scan(text);
      std::string name;
      Place place;
      while (scan.Next(&name, &place)) {
        const auto* table = Follow(type, place.path);
        if (table == nullptr || table->fields()->LookupByKey(name.c_str()) != nullptr) continue;
        const auto fields = Fields(*table);
        return absl::StrCat("line ", place.line, ", column ", place.column, ": unknown field \"",
                            name, "\"; ", runtime::Absl(LastName(table->name())), " has ",
                            fields.empty() ? "none" : absl::StrJoin(fields, ", "));
      }
    }
    return absl::StrCat("line ", line, ", column ", column, ": ", Translate(words),
                        IsOfValue(words) ? Wanted(FieldAt(text, type, line, column)) : "");
  }

  // The parser knows states by the schema's names alone. Puts that name in the place of the word of
  // ToJson(), if such a word is what `error` is about.
  bool SpellState(const reflection::Object& type, const std::string& error,
                  std::string* text) const {
    std::size_t line = 0, column = 0;
    std::string words;
    if (!RE2::FullMatch(error, R"((?s)(\d+): (\d+): error: (.*))", &line, &column, &words) ||
        !absl::StartsWith(words, "unknown enum value")) {
      return false;
    }
    std::size_t after_name = 0;
    const reflection::Field* const field = FieldAt(*text, type, line, column, &after_name);
    if (field == nullptr || field->type()->index() < 0) return false;
    const std::size_t begin = text->find_first_not_of(": \t\r\n\"'", after_name);
    if (begin == std::string::npos) return false;
    const auto* const of = schema_->enums()->Get(static_cast<unsigned>(field->type()->index()));
    for (const auto* member : *of->values()) {
      const char* const state = bus::StateNameOf(LastName(of->name()), member->value());
      const std::string name = member->name()->str();
      if (state == nullptr || name == state || text->compare(begin, strlen(state), state) != 0) {
        continue;
      }
      const std::size_t end = begin + strlen(state);
      const bool is_whole =
          end == text->size() || !absl::ascii_isalnum(static_cast<unsigned char>((*text)[end]));
      // ("stopped" begins "stopped early".)
      if (!is_whole || text->compare(end, 6, " early") == 0) continue;
      text->replace(begin, strlen(state), name);
      return true;
    }
    return false;
  }

  // Whether what the parser says is that a value does not suit its field.
  static bool IsOfValue(std::string_view words) {
    for (const char* start :
         {kNoNumber, "unknown enum value", "Cannot assign token", "invalid number",
          "expecting: string", "expecting: [", "expecting: {"}) {
      if (absl::StartsWith(runtime::Absl(words), start)) return true;
    }
    return false;
  }
  // The field with the last name that ends before a place; null where no field has such a name.
  // `after_name`: the byte behind that name.
  const reflection::Field* FieldAt(std::string_view text, const reflection::Object& type,
                                   std::size_t line, std::size_t column,
                                   std::size_t* after_name = nullptr) const {
    NameScan scan(text);
    std::string name;
    Place place;
    const reflection::Field* field = nullptr;
    while (scan.Next(&name, &place) &&
           std::pair(place.line, place.column) < std::pair(line, column)) {
      const auto* table = Follow(type, place.path);
      field = table == nullptr ? nullptr : table->fields()->LookupByKey(name.c_str());
      if (after_name != nullptr) *after_name = scan.at();
    }
    return field;
  }
  // "; ranks is [uint]", "; state is JobState: Running, Exited"
  std::string Wanted(const reflection::Field* field) const {
    if (field == nullptr) return "";
    const reflection::Type& type = *field->type();
    const BaseType base = type.base_type();
    std::string text = absl::StrCat("; ", field->name()->str(), " is ", TypeName(type, base));
    const BaseType element = base == reflection::Vector ? type.element() : base;
    if (element == reflection::UByte && type.index() < 0 && base == reflection::Vector) {
      absl::StrAppend(&text, ": a list of bytes is written [104, 105]");
    }
    if (type.index() < 0 || !flatbuffers::IsInteger(element)) return text;
    std::vector<std::string> members;
    for (const auto* member :
         *schema_->enums()->Get(static_cast<unsigned>(type.index()))->values()) {
      members.push_back(walk_.WordOf(type, *member));
    }
    return absl::StrCat(text, ": ", absl::StrJoin(members, ", "));
  }
  static std::string Translate(std::string words) {
    const auto replace = [&](std::string_view from, std::string_view to) {
      const std::size_t at = words.find(from);
      if (at != std::string::npos) words.replace(at, from.size(), to);
    };
    replace(kNoNumber, "expected a number");
    replace("expecting: ", "expected ");
    replace(" instead got: ", ", found ");
    replace("Cannot assign token starting with ", "cannot use ");
    replace(" to value of <", " for a value of type ");
    replace("> type.", "");
    replace("end of file", "the end");
    return words;
  }

  // The parser's message about a word or a string where a number belongs.
  static constexpr const char* kNoNumber = "enum values need to be qualified by an enum type";

  const std::string text_;
  const reflection::Schema* const schema_;
  const Walk walk_;
  std::vector<std::string> services_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MessageJson>> MessageJson::Load() {
  auto path = runtime::FindDataFile("bus/schema/envelope.bfbs");
  if (!path.ok()) return path.status();
  auto text = runtime::ReadFile(*path, kMaxSchemaBytes);
  if (!text.ok()) return text.status();
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(text->data()), text->size());
  if (!reflection::VerifySchemaBuffer(verifier)) {
    return absl::InternalError(absl::StrCat("not a binary schema: ", *path));
  }
  auto result = std::make_unique<SchemaMessageJson>(*std::move(text));
  if (absl::Status status = result->Check(); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(*path, ": ", status.message()));
  }
  return result;
}

json MessageJson::ToJson(const msg::EnvelopeT& envelope) const {
  flatbuffers::FlatBufferBuilder builder;
  msg::FinishEnvelopeBuffer(builder, msg::Envelope::Pack(builder, &envelope));
  return ToJson(*msg::GetEnvelope(builder.GetBufferPointer()));
}

}  // namespace yard
