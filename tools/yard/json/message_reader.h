#ifndef TOOLS_YARD_JSON_MESSAGE_READER_H_
#define TOOLS_YARD_JSON_MESSAGE_READER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "bus/schema/envelope_generated.h"
#include "tools/yard/json/message_schema.h"

namespace yard {

// An envelope from relaxed JSON; what that may be and the errors stand at MessageJson::FromJson().
absl::StatusOr<msg::EnvelopeT> ReadJson(const MessageSchema& schema, std::string_view type,
                                        std::string_view text);

}  // namespace yard

#endif  // TOOLS_YARD_JSON_MESSAGE_READER_H_
