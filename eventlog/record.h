#ifndef EVENTLOG_RECORD_H_
#define EVENTLOG_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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
    kBadPayload,  // Its length is right, its payload is not: skip `size` bytes.
    kBadHeader,   // Its length cannot be trusted: nothing behind it can be found.
  };
  State state = State::kNeedMore;
  std::string_view payload;  // Points into the data.
  std::size_t size = 0;      // Of the whole record, for kRecord and kBadPayload.
  std::size_t needed = 0;    // For kNeedMore.
};

// Looks at the record at the start of `data`. A length counts only after its CRC, and up to the
// limit.
ParsedRecord ParseRecord(std::string_view data, std::uint64_t max_payload_bytes = kMaxPayloadBytes);

}  // namespace eventlog

#endif  // EVENTLOG_RECORD_H_
