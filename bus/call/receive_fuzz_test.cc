// Feeds arbitrary bytes to the receive function, and reads every field of what it accepts.

#include <cstddef>
#include <cstdint>

#include "bus/call/read_all.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bus::ReadAll({data, size}, 1 << 20);
  return 0;
}
