#include "eventlog/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace eventlog {
namespace {

constexpr std::array<std::uint32_t, 256> MakeTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = MakeTable();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t ExtendHardware(std::uint32_t before,
                                                               std::string_view data) {
  std::uint64_t crc = ~before;
  const char* at = data.data();
  std::size_t left = data.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto narrow = static_cast<std::uint32_t>(crc);
  if ((left & 4) != 0) {
    std::uint32_t word;
    std::memcpy(&word, at, 4);
    narrow = _mm_crc32_u32(narrow, word);
    at += 4;
  }
  for (left &= 3; left > 0; ++at, --left) {
    narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(*at));
  }
  return ~narrow;
}

// Not a local static, whose guard every call would check. It is false while other static objects
// are constructed, which only costs speed.
const bool has_instruction = __builtin_cpu_supports("sse4.2");
#endif

std::uint32_t ExtendPortable(std::uint32_t before, std::string_view data) {
  std::uint32_t crc = ~before;
  for (const char c : data) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  }
  return ~crc;
}

// The effect of a number of zero bytes on each bit of a CRC. The effect is linear: the bits combine
// by XOR.
using Step = std::array<std::uint32_t, 32>;

std::uint32_t Apply(const Step& step, std::uint32_t crc) {
  std::uint32_t result = 0;
  for (std::size_t bit = 0; crc != 0; ++bit, crc >>= 1) {
    if ((crc & 1) != 0) result ^= step[bit];
  }
  return result;
}

}  // namespace

std::uint32_t ExtendCrc32cByZeros(std::uint32_t before, std::uint64_t count) {
  Step step;
  for (std::size_t bit = 0; bit < step.size(); ++bit) {
    const std::uint32_t one = std::uint32_t{1} << bit;
    step[bit] = (one >> 8) ^ kTable[one & 0xFF];
  }
  std::uint32_t crc = ~before;
  for (; count != 0; count >>= 1) {
    if ((count & 1) != 0) crc = Apply(step, crc);
    Step twice;
    for (std::size_t bit = 0; bit < step.size(); ++bit) twice[bit] = Apply(step, step[bit]);
    step = twice;
  }
  return ~crc;
}

std::uint32_t ExtendCrc32c(std::uint32_t before, std::string_view data) {
#if defined(__x86_64__)
  if (has_instruction) return ExtendHardware(before, data);
#endif
  return ExtendPortable(before, data);
}

std::uint32_t Crc32c(std::string_view data) { return ExtendCrc32c(0, data); }

std::uint32_t Crc32cPortable(std::string_view data) { return ExtendPortable(0, data); }

}  // namespace eventlog
