#ifndef RUNTIME_TEXT_BYTE_SIZE_H_
#define RUNTIME_TEXT_BYTE_SIZE_H_

#include <cstdint>
#include <string>

namespace runtime {

// Formats `bytes` in the largest 1024-based unit that divides it: "512MiB", "1536MiB", "1000".
inline std::string ByteSize(std::uint64_t bytes) {
  struct Unit {
    const char* name;
    int shift;
  };
  for (const Unit& unit : {Unit{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}}) {
    const std::uint64_t size = std::uint64_t{1} << unit.shift;
    if (bytes != 0 && bytes % size == 0) return std::to_string(bytes / size) + unit.name;
  }
  return std::to_string(bytes);
}

}  // namespace runtime

#endif  // RUNTIME_TEXT_BYTE_SIZE_H_
