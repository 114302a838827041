// Feeds arbitrary bytes as an event file and as an event: each is read or refused, and every view
// must lie inside the bytes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "eventlog/event.h"
#include "eventlog/record.h"

namespace {

void MustBeInside(std::string_view part, std::string_view whole) {
  if (part.data() == nullptr) return;
  const std::less_equal<const char*> not_after;
  const char* end = whole.data() + whole.size();
  if (!not_after(whole.data(), part.data()) || !not_after(part.data() + part.size(), end)) abort();
}

void Decode(std::string_view payload) {
  static eventlog::Event event;
  if (!eventlog::DecodeEvent(payload, &event).ok()) return;
  MustBeInside(event.file_version, payload);
  MustBeInside(event.writer, payload);
  MustBeInside(event.bytes, payload);
  for (const eventlog::SummaryValue& value : event.values) {
    MustBeInside(value.tag, payload);
    MustBeInside(value.plugin, payload);
    MustBeInside(value.metadata, payload);
    MustBeInside(value.bytes, payload);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Decode(rest);
  for (;;) {
    const eventlog::ParsedRecord record = eventlog::ParseRecord(rest);
    if (record.size == 0) return 0;
    MustBeInside(record.payload, rest);
    Decode(record.payload);
    rest.remove_prefix(record.size);
  }
}
