#ifndef TOOLS_YARD_JSON_MESSAGE_READER_H_
#define TOOLS_YARD_JSON_MESSAGE_READER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "bus/schema/envelope_generated.h"
#include "tools/yard/json/message_schema.h"

namespace yard {

// Parses an envelope from relaxed JSON; MessageJson::FromJson() describes the format and errors.
absl::StatusOr<msg::EnvelopeT> ReadJson(const MessageSchema& schema, std::string_view type,
                                        std::string_view text);

}  // namespace yard

#endif  // TOOLS_YARD_JSON_MESSAGE_READER_H_
