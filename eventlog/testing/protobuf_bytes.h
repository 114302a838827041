#ifndef EVENTLOG_TESTING_PROTOBUF_BYTES_H_
#define EVENTLOG_TESTING_PROTOBUF_BYTES_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace eventlog::testing {

// Encodes protobuf by hand, so that a test can write what other programs write, and malformed data.

inline std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

template <typename Unsigned>
std::string LittleEndianBytes(Unsigned value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof value; ++i) {
    bytes.push_back(static_cast<char>(value >> (8 * i)));
  }
  return bytes;
}

inline std::string DoubleBytes(double value) {
  return LittleEndianBytes(std::bit_cast<std::uint64_t>(value));
}
inline std::string FloatBytes(float value) {
  return LittleEndianBytes(std::bit_cast<std::uint32_t>(value));
}

// Encode a field: a message or text, a varint, a double, a float.
inline std::string Bytes(int field, std::string_view content) {
  return Varint(static_cast<std::uint64_t>(field) << 3 | 2) + Varint(content.size()) +
         std::string(content);
}
inline std::string Number(int field, std::uint64_t value) {
  return Varint(static_cast<std::uint64_t>(field) << 3) + Varint(value);
}
inline std::string Double(int field, double value) {
  return Varint(static_cast<std::uint64_t>(field) << 3 | 1) + DoubleBytes(value);
}
inline std::string Float(int field, float value) {
  return Varint(static_cast<std::uint64_t>(field) << 3 | 5) + FloatBytes(value);
}

}  // namespace eventlog::testing

#endif  // EVENTLOG_TESTING_PROTOBUF_BYTES_H_
