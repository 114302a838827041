// Feeds arbitrary bytes. As an event: the fast path must agree with the full decoder. As a file: a
// scan must yield the same as its records one by one, in whatever pieces it is read.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "eventlog/event.h"
#include "eventlog/file_faults.h"
#include "eventlog/record.h"
#include "eventlog/record_scan.h"
#include "eventlog/scalar_event.h"
#include "eventlog/scalar_scan.h"
#include "eventlog/tag_table.h"
#include "eventlog/testing/same_event.h"

namespace {

void Check(bool right) {
  if (!right) abort();
}

void Decode(std::string_view payload) {
  static eventlog::Event fast, whole;
  if (!eventlog::DecodeScalarEvent(payload, &fast)) return;
  Check(eventlog::DecodeEvent(payload, &whole).ok());
  Check(eventlog::SameEvent(fast, whole));
}

struct Pass {
  eventlog::RecordPosition position;
  eventlog::FileFaults faults;
  std::vector<std::uint64_t> offsets;
};

Pass Scan(std::string_view file, std::size_t window) {
  Pass pass;
  eventlog::TagTable tags;
  eventlog::ScalarScan scan(&tags);
  std::size_t needed = 0;
  for (;;) {
    const std::string_view rest = file.substr(pass.position.offset);
    const std::string_view data = rest.substr(0, std::max(window, needed));
    const auto before = pass.position;
    const std::size_t asked = needed;
    needed = scan.Read({data, rest.size()}, {}, &pass.position, &pass.faults,
                       [&](const eventlog::ScannedEvent& scanned) {
                         Check(scanned.event().values.size() == scanned.tags().size());
                         pass.offsets.push_back(scanned.record_offset());
                       });
    Check(pass.position.offset <= file.size());
    if (needed == 0 || needed > file.size() - pass.position.offset) return pass;
    // The scan must advance, or need more than it had.
    Check(pass.position.offset > before.offset || pass.position.state != before.state ||
          needed > std::max(window, asked));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  Decode(input);
  const Pass whole = Scan(input, size);
  for (const std::size_t window : {std::size_t{1}, std::size_t{64}}) {
    const Pass pieces = Scan(input, window);
    // Reading in pieces also finds only valid records, but a header that announces more than the
    // file has may end the search elsewhere.
    if (whole.faults.empty()) Check(pieces.offsets == whole.offsets);
  }
  for (std::string_view rest = input;;) {
    const eventlog::ParsedRecord record = eventlog::ParseRecord(rest);
    if (record.size == 0) return 0;
    Decode(record.payload);
    rest.remove_prefix(record.size);
  }
}
