#include "eventlog/record.h"

#include <cstring>

#include "eventlog/crc32c.h"

namespace eventlog {
namespace {

template <typename Number>
void AppendLittleEndian(Number value, std::string* out) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    out->push_back(static_cast<char>(value >> (8 * i)));
  }
}

template <typename Number>
Number LoadLittleEndian(const char* at) {
  Number value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) {
    value |= static_cast<Number>(static_cast<unsigned char>(at[i])) << (8 * i);
  }
  return value;
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

ParsedRecord ParseRecord(std::string_view data, std::uint64_t max_payload_bytes) {
  using State = ParsedRecord::State;
  ParsedRecord result;
  if (data.size() < kRecordHeaderBytes) {
    result.needed = kRecordHeaderBytes;
    return result;
  }
  const auto length = LoadLittleEndian<std::uint64_t>(data.data());
  const auto length_crc = LoadLittleEndian<std::uint32_t>(data.data() + 8);
  if (Crc32c(data.substr(0, 8)) != UnmaskCrc(length_crc) || length > max_payload_bytes) {
    result.state = State::kBadHeader;
    return result;
  }
  result.needed = kRecordHeaderBytes + static_cast<std::size_t>(length) + kRecordFooterBytes;
  if (data.size() < result.needed) return result;
  result.size = result.needed;
  result.payload = data.substr(kRecordHeaderBytes, static_cast<std::size_t>(length));
  const auto crc = LoadLittleEndian<std::uint32_t>(result.payload.data() + length);
  result.state = Crc32c(result.payload) == UnmaskCrc(crc) ? State::kRecord : State::kBadPayload;
  return result;
}

}  // namespace eventlog
