#ifndef EVENTLOG_CRC32C_H_
#define EVENTLOG_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace eventlog {

// CRC-32C (Castagnoli) of `data`, by the processor's instruction where it has one. One chain of
// instructions: the fastest way for a record of one scalar, where ISA-L needs as long or longer;
// from some hundred bytes on ISA-L is two to three times faster (reader_benchmark shows both).
std::uint32_t Crc32c(std::string_view data);
// CRC of bytes that have the CRC `before`, followed by `data`.
std::uint32_t ExtendCrc32c(std::uint32_t before, std::string_view data);
// The same with `count` bytes of zero behind it, in a time that hardly depends on their number.
std::uint32_t ExtendCrc32cByZeros(std::uint32_t before, std::uint64_t count);
// As Crc32c(), by table, on any processor.
std::uint32_t Crc32cPortable(std::string_view data);

// TensorFlow's masking: a CRC that is stored beside the data it covers is rotated and shifted, so
// that data holding CRCs does not trouble the CRC of the whole.
inline std::uint32_t MaskCrc(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}
inline std::uint32_t UnmaskCrc(std::uint32_t masked) {
  const std::uint32_t rotated = masked - 0xA282EAD8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace eventlog

#endif  // EVENTLOG_CRC32C_H_
