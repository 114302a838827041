// Any bytes as an event file: records and events are read or refused, nothing else happens.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "eventlog/event.h"
#include "eventlog/record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  eventlog::Event event;
  (void)eventlog::DecodeEvent(bytes, &event);
  std::string_view rest = bytes;
  for (;;) {
    const eventlog::ParsedRecord record = eventlog::ParseRecord(rest);
    if (record.size == 0) return 0;
    if (record.state == eventlog::ParsedRecord::State::kRecord) {
      (void)eventlog::DecodeEvent(record.payload, &event);
    }
    rest.remove_prefix(record.size);
  }
}
