#include "tools/yard/json/message_json.h"

#include "tools/yard/json/message_reader.h"
#include "tools/yard/json/message_writer.h"

namespace yard {

absl::StatusOr<std::unique_ptr<MessageJson>> MessageJson::Load() {
  auto schema = MessageSchema::Load();
  if (!schema.ok()) return schema.status();
  return std::unique_ptr<MessageJson>(new MessageJson(*std::move(schema)));
}

nlohmann::json MessageJson::ToJson(const msg::Envelope& envelope) const {
  return WriteJson(*schema_, envelope);
}

nlohmann::json MessageJson::ToJson(const msg::EnvelopeT& envelope) const {
  flatbuffers::FlatBufferBuilder builder;
  msg::FinishEnvelopeBuffer(builder, msg::Envelope::Pack(builder, &envelope));
  return ToJson(*msg::GetEnvelope(builder.GetBufferPointer()));
}

absl::StatusOr<msg::EnvelopeT> MessageJson::FromJson(std::string_view type,
                                                     std::string_view json) const {
  return ReadJson(*schema_, type, json);
}

}  // namespace yard
