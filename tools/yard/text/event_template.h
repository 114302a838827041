#ifndef TOOLS_YARD_TEXT_EVENT_TEMPLATE_H_
#define TOOLS_YARD_TEXT_EVENT_TEMPLATE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace yard {

// Values that one event has in the place of a template's words.
struct EventValues {
  std::uint64_t count = 1;  // Number of this event, from 1.
  absl::Time time;
  std::uint64_t random = 0;  // Any 64 bits.
};

// `text` with {{count}}, {{time}} (ISO 8601 in UTC, with microseconds), {{id}} (16 hexadecimal
// digits) and {{random}} (a number from 0 to 1, six digits) filled in. Anything else in braces
// stays as it is. As `nats pub`, which writes {{.Count}}, {{.Time}}, {{.ID}}. Any thread.
std::string FillTemplate(std::string_view text, const EventValues& values);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_EVENT_TEMPLATE_H_
