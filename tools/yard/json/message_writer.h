#ifndef TOOLS_YARD_JSON_MESSAGE_WRITER_H_
#define TOOLS_YARD_JSON_MESSAGE_WRITER_H_

#include "bus/schema/envelope_generated.h"
#include "nlohmann/json.hpp"
#include "tools/yard/json/message_schema.h"

namespace yard {

// Converts the body of a verified envelope to JSON; MessageJson::ToJson() describes the format.
nlohmann::json WriteJson(const MessageSchema& schema, const msg::Envelope& envelope);

}  // namespace yard

#endif  // TOOLS_YARD_JSON_MESSAGE_WRITER_H_
