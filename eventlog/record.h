#ifndef EVENTLOG_RECORD_H_
#define EVENTLOG_RECORD_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "eventlog/crc32c.h"

namespace eventlog {

// A record of an event file: u64 length, u32 masked CRC-32C of those 8 bytes, payload, u32 masked
// CRC-32C of the payload, all little endian. TensorFlow's TFRecord.

inline constexpr std::size_t kRecordHeaderBytes = 12;
inline constexpr std::size_t kRecordFooterBytes = 4;
// Default limit of a payload that a reader accepts; a longer one is treated as damage.
inline constexpr std::uint64_t kMaxPayloadBytes = std::uint64_t{512} << 20;

// Appends the record with this payload. Readers refuse a payload over their limit: stay below it.
void AppendRecord(std::string_view payload, std::string* out);

struct ParsedRecord {
  enum class State {
    kRecord,      // `payload` is complete and its CRC is correct.
    kNeedMore,    // The data ends inside the record; `needed` bytes from its start are required.
    kBadPayload,  // The length is correct, the payload is not: skip `size` bytes.
    kBadHeader,   // The length is unreliable: FindHeader() finds the next header.
  };
  State state = State::kNeedMore;
  std::string_view payload;  // Points into the data.
  std::size_t size = 0;      // Size of the whole record, for kRecord and kBadPayload.
  std::size_t needed = 0;    // For kNeedMore.
  bool too_long = false;     // For kBadHeader: the CRC is correct, but the length exceeds the
                             // limit.
};

// Parses the record at the start of `data`. Uses a length only if its CRC is correct and it is
// within the limit.
ParsedRecord ParseRecord(std::string_view data, std::uint64_t max_payload_bytes = kMaxPayloadBytes);

struct HeaderSearch {
  enum class State {
    kFound,     // A complete record with correct CRCs begins at `offset`.
    kNeedMore,  // A possible header is at `offset`; `needed` bytes from there decide.
    kNone,      // No record begins before `offset`.
  };
  State state = State::kNone;
  std::size_t offset = 0;
  std::size_t needed = 0;
};

// Finds where records continue after damage: the first header whose length is within the limit, and
// whose length and payload match their CRCs. `available`: size of the rest of the file from the
// start of `data`, at least data.size(). A header whose record would end after that gives kNeedMore
// only if `data` contains all available bytes and no complete record follows the header: the record
// is being written, or is not a record at all.
//
// Takes time linear in the size of `data` even for malicious bytes: verifies at most four times
// that size of payloads, and from then on accepts any correct header.
HeaderSearch FindHeader(std::string_view data, std::uint64_t available,
                        std::uint64_t max_payload_bytes = kMaxPayloadBytes);

// ---------------------------------------------------------------------------------------------
// Inline, because this is half of the time for a record of one scalar.

template <typename Number>
Number LoadLittleEndian(const char* at) {
  static_assert(std::endian::native == std::endian::little);
  Number value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

inline ParsedRecord ParseRecord(std::string_view data, std::uint64_t max_payload_bytes) {
  using State = ParsedRecord::State;
  ParsedRecord result;
  if (data.size() < kRecordHeaderBytes) [[unlikely]] {
    result.needed = kRecordHeaderBytes;
    return result;
  }
  const auto length = LoadLittleEndian<std::uint64_t>(data.data());
  const auto length_crc = LoadLittleEndian<std::uint32_t>(data.data() + 8);
  const bool trusted = Crc32c(data.substr(0, 8)) == UnmaskCrc(length_crc);
  if (!trusted || length > max_payload_bytes) [[unlikely]] {
    result.state = State::kBadHeader;
    result.too_long = trusted;
    return result;
  }
  result.needed = kRecordHeaderBytes + static_cast<std::size_t>(length) + kRecordFooterBytes;
  if (data.size() < result.needed) [[unlikely]] {
    return result;
  }
  result.size = result.needed;
  result.payload = data.substr(kRecordHeaderBytes, static_cast<std::size_t>(length));
  const auto crc = LoadLittleEndian<std::uint32_t>(result.payload.data() + length);
  result.state = Crc32c(result.payload) == UnmaskCrc(crc) ? State::kRecord : State::kBadPayload;
  return result;
}

}  // namespace eventlog

#endif  // EVENTLOG_RECORD_H_
