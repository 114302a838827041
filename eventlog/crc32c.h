#ifndef EVENTLOG_CRC32C_H_
#define EVENTLOG_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace eventlog {

// CRC-32C (Castagnoli) of `data`, by the processor's instruction if it has one. Uses one chain of
// instructions: the fastest way for a record of one scalar, for which ISA-L takes as long or
// longer. From some hundred bytes on ISA-L is two to three times faster (reader_benchmark measures
// both).
std::uint32_t Crc32c(std::string_view data);
// Extends `before`, the CRC of earlier bytes, by `data`.
std::uint32_t ExtendCrc32c(std::uint32_t before, std::string_view data);
// Extends `before` by `count` bytes of zero, in a time that hardly depends on `count`.
std::uint32_t ExtendCrc32cByZeros(std::uint32_t before, std::uint64_t count);
// Computes Crc32c() by a table, on any processor.
std::uint32_t Crc32cPortable(std::string_view data);

// TensorFlow's masking: a CRC that is stored beside its data is rotated and shifted, so that the
// CRC of data that itself contains CRCs keeps its strength.
inline std::uint32_t MaskCrc(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}
inline std::uint32_t UnmaskCrc(std::uint32_t masked) {
  const std::uint32_t rotated = masked - 0xA282EAD8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace eventlog

#endif  // EVENTLOG_CRC32C_H_
