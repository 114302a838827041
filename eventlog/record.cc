#include "eventlog/record.h"

#include <algorithm>

namespace eventlog {
namespace {

// Limit of the payload bytes that are verified after bytes that look like a header, as a multiple
// of the size of the data.
constexpr std::uint64_t kPayloadChecks = 4;

template <typename Number>
void AppendLittleEndian(Number value, std::string* out) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    out->push_back(static_cast<char>(value >> (8 * i)));
  }
}

}  // namespace

void AppendRecord(std::string_view payload, std::string* out) {
  const std::size_t start = out->size();
  AppendLittleEndian<std::uint64_t>(payload.size(), out);
  AppendLittleEndian<std::uint32_t>(
      MaskCrc(Crc32c(std::string_view(*out).substr(start, sizeof(std::uint64_t)))), out);
  out->append(payload);
  AppendLittleEndian<std::uint32_t>(MaskCrc(Crc32c(payload)), out);
}

HeaderSearch FindHeader(std::string_view data, std::uint64_t available,
                        std::uint64_t max_payload_bytes) {
  using State = HeaderSearch::State;
  HeaderSearch unfinished;
  std::uint64_t budget = kPayloadChecks * data.size();
  std::size_t at = 0;
  for (; at + kRecordHeaderBytes <= data.size(); ++at) {
    // In damaged data nearly every length is absurd, so this comparison is most of the work.
    const auto length = LoadLittleEndian<std::uint64_t>(data.data() + at);
    if (length > max_payload_bytes) continue;
    const auto crc = LoadLittleEndian<std::uint32_t>(data.data() + at + 8);
    if (Crc32c(data.substr(at, 8)) != UnmaskCrc(crc)) continue;
    const std::uint64_t whole = kRecordHeaderBytes + length + kRecordFooterBytes;
    if (whole > available - at) {
      if (unfinished.needed == 0) {
        unfinished = {State::kNeedMore, at, static_cast<std::size_t>(whole)};
      }
    } else if (whole > data.size() - at) {
      return {State::kNeedMore, at, static_cast<std::size_t>(whole)};
    } else if (length > budget || ParseRecord(data.substr(at), max_payload_bytes).state ==
                                      ParsedRecord::State::kRecord) {
      return {State::kFound, at, 0};
    } else {
      budget -= length;
    }
  }
  if (unfinished.needed > 0 && available == data.size()) return unfinished;
  return {State::kNone, at, 0};
}

}  // namespace eventlog
