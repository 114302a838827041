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
// Default for the longest payload a reader believes in; a longer one is taken for damage.
inline constexpr std::uint64_t kMaxPayloadBytes = std::uint64_t{512} << 20;

// Appends the record with this payload. A reader refuses one over its limit: keep below it.
void AppendRecord(std::string_view payload, std::string* out);

struct ParsedRecord {
  enum class State {
    kRecord,      // `payload` is whole and its CRC is right.
    kNeedMore,    // The data ends inside the record; `needed` bytes from its start are wanted.
    kBadPayload,  // The length is right, the payload is not: skip `size` bytes.
    kBadHeader,   // The length cannot be trusted: FindHeader() finds the next header.
  };
  State state = State::kNeedMore;
  std::string_view payload;  // Points into the data.
  std::size_t size = 0;      // Size of the whole record, for kRecord and kBadPayload.
  std::size_t needed = 0;    // For kNeedMore.
  bool too_long = false;     // For kBadHeader: its CRC is right, its length over the limit.
};

// Looks at the record at the start of `data`. A length counts only after its CRC, and up to the
// limit.
ParsedRecord ParseRecord(std::string_view data, std::uint64_t max_payload_bytes = kMaxPayloadBytes);

struct HeaderSearch {
  enum class State {
    kFound,     // A whole record with the right CRCs begins at `offset`.
    kNeedMore,  // A header is at `offset`; `needed` bytes from there show whether it is one.
    kNone,      // No record begins before `offset`.
  };
  State state = State::kNone;
  std::size_t offset = 0;
  std::size_t needed = 0;
};

// Finds where records go on behind damage: the first header whose length is within the limit and
// has the right CRC, and whose payload has. `available`: how far the file goes on from the start of
// `data`, at least its size. A header whose record would end behind that is kNeedMore only if
// `data` goes as far and no whole record is behind the header: the record is being written, or is
// none at all.
//
// Linear in the size of `data` also for hostile bytes: at most four times its size of payloads are
// checked; from then on a right header is enough.
HeaderSearch FindHeader(std::string_view data, std::uint64_t available,
                        std::uint64_t max_payload_bytes = kMaxPayloadBytes);

// ---------------------------------------------------------------------------------------------
// Inline, because it is half of the time that a record of one scalar takes.

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
