#if defined(__GNUC__) && !defined(__clang__)
// With the sanitizers, GCC reports a false over-read in FlatBuffers' key comparison.
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif

#include "tools/yard/json/message_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "bus/json/exact_json.h"
#include "flatbuffers/reflection.h"
#include "runtime/text/json_number.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

namespace yard {
namespace {

using flatbuffers::Table;
using nlohmann::json;
using reflection::BaseType;

// Deeper user JSON stays a string, because parsers and printers recurse.
constexpr int kMaxDepth = 100;

json Real(double value) {
  if (!std::isfinite(value)) return runtime::NotFiniteWord(value);
  return value;
}

// Returns the double whose shortest decimal form is that of the float.
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

// Converts tables of the schema to JSON.
class Walk {
 public:
  explicit Walk(const MessageSchema& schema) : schema_(schema) {}

  json Object(const Table& table, const reflection::Object& type) const {
    json result = json::object();
    for (const auto* field : *type.fields()) {
      json value = Field(table, type, *field);
      if (!value.is_null()) result[field->name()->str()] = std::move(value);
    }
    return result;
  }

 private:
  // Returns null to omit the field.
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
    const reflection::EnumVal* const member = schema_.Member(type, value);
    if (member != nullptr) return schema_.WordOf(type, *member);
    return bus::ExactJson(base == reflection::ULong ? json(static_cast<std::uint64_t>(value))
                                                    : json(value));
  }

  json Nested(const Table& table, const reflection::Field& field) const {
    const reflection::Object& type = schema_.TableAt(field.type()->index());
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
    const auto* member = schema_.Member(*field.type(), flatbuffers::GetAnyFieldI(table, *tag));
    if (member == nullptr || member->union_type() == nullptr) return nullptr;
    return Object(*value, schema_.TableAt(member->union_type()->index()));
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
    if (element == reflection::Obj && schema_.TableAt(type.index()).is_struct()) return nullptr;
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
                      schema_.TableAt(type.index()));
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

  const MessageSchema& schema_;
};

}  // namespace

json WriteJson(const MessageSchema& schema, const msg::Envelope& envelope) {
  if (envelope.payload() != nullptr && envelope.body_type() == msg::Body::NONE) {
    const auto* type = envelope.payload_type();
    const std::string_view kind =
        type == nullptr ? "" : std::string_view(type->data(), type->size());
    const auto* bytes = envelope.payload();
    return {
        {"payload", Payload({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, kind)},
        {"payload_type", Text(kind)}};
  }
  const auto* type = schema.TableNamed(msg::EnumNameBody(envelope.body_type()));
  if (type == nullptr || envelope.body() == nullptr) return json::object();
  return Walk(schema).Object(*static_cast<const Table*>(envelope.body()), *type);
}

}  // namespace yard
