#include "bus/wire/sample_messages.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "bus/schema/envelope_generated.h"
#include "flatbuffers/flatbuffers.h"
#include "flatbuffers/reflection.h"
#include "glog/logging.h"

namespace bus {
namespace {

constexpr int kTooDeep = 100;

std::vector<char> ReadSchema() {
  std::ifstream file(kSchemaPath, std::ios::binary);
  CHECK(file.good()) << kSchemaPath;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Builds messages from the schema alone.
class Builder {
 public:
  explicit Builder(const reflection::Schema& schema) : schema_(schema) {
    builder_.ForceDefaults(true);
  }

  std::vector<std::uint8_t> Build(msg::Kind kind, msg::Body body,
                                  std::vector<std::uint8_t> recorded) {
    kind_ = kind;
    body_ = body;
    recorded_ = std::move(recorded);
    const reflection::Object& root = *schema_.root_table();
    const flatbuffers::Offset<msg::Envelope> envelope(Table(root));
    msg::FinishEnvelopeBuffer(builder_, envelope);
    return {builder_.GetBufferPointer(), builder_.GetBufferPointer() + builder_.GetSize()};
  }

 private:
  using Offset = flatbuffers::uoffset_t;

  const reflection::Object& ObjectOf(const reflection::Type& type) const {
    return *schema_.objects()->Get(static_cast<Offset>(type.index()));
  }

  Offset Table(const reflection::Object& object) {
    std::vector<std::pair<const reflection::Field*, Offset>> offsets;
    for (const reflection::Field* field : *object.fields()) {
      if (const auto offset = OffsetOf(object, *field)) offsets.emplace_back(field, *offset);
    }
    const Offset start = builder_.StartTable();
    for (const auto& [field, offset] : offsets) {
      builder_.AddOffset(field->offset(), flatbuffers::Offset<void>(offset));
    }
    for (const reflection::Field* field : *object.fields()) Inline(object, *field);
    return builder_.EndTable(start);
  }

  // Builds the value to which a field refers and returns its offset; null for a field that is
  // stored inline.
  std::optional<Offset> OffsetOf(const reflection::Object& object, const reflection::Field& field) {
    const reflection::Type& type = *field.type();
    switch (type.base_type()) {
      case reflection::String:
        return builder_.CreateString(Text(field.name()->str())).o;
      case reflection::Vector:
        return Vector(object, field);
      case reflection::Obj:
        if (ObjectOf(type).is_struct()) return std::nullopt;
        return Table(ObjectOf(type));
      case reflection::Union:
        if (body_ == msg::Body::NONE) return std::nullopt;
        for (const reflection::EnumVal* value :
             *schema_.enums()->Get(static_cast<Offset>(type.index()))->values()) {
          if (value->value() == static_cast<int>(body_))
            return Table(ObjectOf(*value->union_type()));
        }
        LOG(FATAL) << "no such body: " << static_cast<int>(body_);
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

  Offset Vector(const reflection::Object& object, const reflection::Field& field) {
    const reflection::Type& type = *field.type();
    if (object.name()->string_view() == "msg.RecordedEvent") {
      return builder_.CreateVector(recorded_).o;
    }
    if (type.element() == reflection::String || type.element() == reflection::Obj) {
      std::vector<flatbuffers::Offset<void>> entries;
      for (int i = 0; i < 2; ++i) {
        entries.emplace_back(type.element() == reflection::String
                                 ? builder_.CreateString(Text(field.name()->str())).o
                                 : Table(ObjectOf(type)));
      }
      return builder_.CreateVector(entries).o;
    }
    const std::size_t size = flatbuffers::GetTypeSize(type.element());
    std::uint8_t* content = nullptr;
    const Offset vector = builder_.CreateUninitializedVector(2, size, &content);
    std::fill_n(content, 2 * size, static_cast<std::uint8_t>(++counter_));
    return vector;
  }

  void Inline(const reflection::Object& object, const reflection::Field& field) {
    const reflection::Type& type = *field.type();
    if (type.base_type() == reflection::Obj && ObjectOf(type).is_struct()) {
      const auto bytes = static_cast<std::size_t>(ObjectOf(type).bytesize());
      builder_.Align(static_cast<std::size_t>(ObjectOf(type).minalign()));
      const std::vector<std::uint8_t> content(bytes, static_cast<std::uint8_t>(++counter_));
      builder_.PushBytes(content.data(), bytes);
      builder_.AddStructOffset(field.offset(), builder_.GetSize());
      return;
    }
    if (type.base_type() == reflection::UType) {
      return builder_.AddElement(field.offset(), static_cast<std::uint8_t>(body_), std::uint8_t{0});
    }
    if (type.base_type() < reflection::Bool || type.base_type() > reflection::Double) return;
    const bool is_kind =
        object.name()->string_view() == "msg.Envelope" && field.name()->string_view() == "kind";
    const std::uint64_t value = is_kind ? static_cast<std::uint64_t>(kind_) : ++counter_ % 3;
    switch (flatbuffers::GetTypeSize(type.base_type())) {
      case 1:
        return builder_.AddElement(field.offset(), static_cast<std::uint8_t>(value),
                                   std::uint8_t{0});
      case 2:
        return builder_.AddElement(field.offset(), static_cast<std::uint16_t>(value),
                                   std::uint16_t{0});
      case 4:
        return builder_.AddElement(field.offset(), static_cast<std::uint32_t>(value),
                                   std::uint32_t{0});
      default:
        return builder_.AddElement(field.offset(), value, std::uint64_t{0});
    }
  }

  // Returns texts of varying lengths, so that the data after them has varying alignment.
  std::string Text(std::string name) { return name + std::string(++counter_ % 11, 'x'); }

  const reflection::Schema& schema_;
  flatbuffers::FlatBufferBuilder builder_;
  msg::Kind kind_ = msg::Kind::Event;
  msg::Body body_ = msg::Body::NONE;
  std::vector<std::uint8_t> recorded_;
  std::uint64_t counter_ = 0;
};

msg::Kind KindOf(std::string_view body) {
  if (body.ends_with("Request")) return msg::Kind::Request;
  if (body.ends_with("Reply")) return msg::Kind::Reply;
  return msg::Kind::Event;
}

int DepthOf(const reflection::Schema& schema, const reflection::Object& object, int above) {
  CHECK_LT(above, kTooDeep) << object.name()->str() << " holds itself";
  int deepest = above + 1;
  const auto look = [&](const reflection::Type& type) {
    if (type.index() < 0) return;
    const auto index = static_cast<flatbuffers::uoffset_t>(type.index());
    if (type.base_type() == reflection::Obj || type.element() == reflection::Obj) {
      const reflection::Object& below = *schema.objects()->Get(index);
      if (!below.is_struct()) deepest = std::max(deepest, DepthOf(schema, below, above + 1));
    }
  };
  for (const reflection::Field* field : *object.fields()) {
    look(*field->type());
    if (field->type()->base_type() != reflection::Union) continue;
    const auto index = static_cast<flatbuffers::uoffset_t>(field->type()->index());
    for (const reflection::EnumVal* value : *schema.enums()->Get(index)->values()) {
      if (value->value() != 0) look(*value->union_type());
    }
  }
  return deepest;
}

}  // namespace

std::vector<SampleMessage> SampleMessages() {
  const std::vector<char> bytes = ReadSchema();
  const reflection::Schema& schema = *reflection::GetSchema(bytes.data());
  const auto build = [&](msg::Kind kind, msg::Body body) {
    const auto inner = Builder(schema).Build(msg::Kind::Event, msg::Body::TrialEvent, {1, 2, 3});
    return SampleMessage{std::string(msg::EnumNameKind(kind)) + " of " + msg::EnumNameBody(body),
                         Builder(schema).Build(kind, body, inner)};
  };
  std::vector<SampleMessage> samples;
  for (const msg::Body body : msg::EnumValuesBody()) {
    if (body != msg::Body::NONE) samples.push_back(build(KindOf(msg::EnumNameBody(body)), body));
  }
  for (const msg::Kind kind : msg::EnumValuesKind())
    samples.push_back(build(kind, msg::Body::NONE));
  samples.push_back(build(msg::Kind::ReplyPart, msg::Body::ListReply));
  return samples;
}

int DeepestNesting() {
  const std::vector<char> bytes = ReadSchema();
  const reflection::Schema& schema = *reflection::GetSchema(bytes.data());
  return DepthOf(schema, *schema.root_table(), 0);
}

}  // namespace bus
