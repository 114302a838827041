#include "tools/yard/event/event_maker.h"

#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "flatbuffers/flatbuffers.h"
#include "nlohmann/json.hpp"
#include "runtime/text/nearest_word.h"
#include "runtime/text/string_view.h"

namespace yard {
namespace {

absl::Status NoSuchType(const std::string& type) {
  std::vector<std::string_view> names;
  for (const msg::Body body : msg::EnumValuesBody()) {
    if (body != msg::Body::NONE) names.emplace_back(msg::EnumNameBody(body));
  }
  const std::string_view meant = runtime::NearestWord(type, names);
  return absl::NotFoundError(
      absl::StrCat("no message type ", type,
                   meant.empty() ? "; yard call --list names those of requests"
                                 : absl::StrCat("; did you mean ", runtime::Absl(meant), "?")));
}

}  // namespace

absl::Status CheckJson(const std::string& text) {
  try {
    const auto parsed = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    // Format: "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::string what = error.what();
    return absl::InvalidArgumentError(
        absl::StrCat("not JSON: ", what.substr(what.find("] ") + 2), "; --raw sends any text"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<msg::NewEventT>> EventMaker::Make(const std::string& text) const {
  auto event = std::make_unique<msg::NewEventT>();
  event->topic = options_.topic;
  if (options_.raw || options_.type.empty()) {
    if (!options_.raw) {
      if (absl::Status good = CheckJson(text); !good.ok()) return good;
    }
    event->payload.assign(text.begin(), text.end());
    event->payload_type = options_.raw ? "text/plain" : "application/json";
    return event;
  }
  const auto envelope = options_.messages->FromJson(options_.type, text);
  if (absl::IsNotFound(envelope.status())) return NoSuchType(options_.type);
  if (!envelope.ok()) {
    return absl::Status(envelope.status().code(),
                        absl::StrCat(options_.type, ": ", envelope.status().message()));
  }
  flatbuffers::FlatBufferBuilder builder;
  msg::FinishEnvelopeBuffer(builder, msg::Envelope::Pack(builder, &*envelope));
  event->envelope.assign(builder.GetBufferPointer(),
                         builder.GetBufferPointer() + builder.GetSize());
  return event;
}

}  // namespace yard
