#ifndef TOOLS_YARD_TEXT_EVENT_TEMPLATE_H_
#define TOOLS_YARD_TEXT_EVENT_TEMPLATE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace yard {

// Values for the placeholders of a template, for one event.
struct EventValues {
  std::uint64_t count = 1;  // Number of this event, from 1.
  absl::Time time;
  std::uint64_t random = 0;  // Any 64 bits.
};

// Replaces {{count}}, {{time}} (ISO 8601 in UTC, with microseconds), {{id}} (16 hexadecimal digits)
// and {{random}} (a number from 0 to 1, six digits) in `text`; other braces stay. Like `nats pub`,
// which uses {{.Count}}, {{.Time}}, {{.ID}}. Any thread.
std::string FillTemplate(std::string_view text, const EventValues& values);

}  // namespace yard

#endif  // TOOLS_YARD_TEXT_EVENT_TEMPLATE_H_
