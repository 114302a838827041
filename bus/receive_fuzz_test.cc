// Bytes of a stranger through the receive function, and everything it lets through read.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "bus/receive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto received = bus::Receive({data, size}, 1 << 20);
  if (!received.ok()) return 0;
  if ((*received)->kind() > msg::Kind::MAX) std::abort();
  if (received->body_known()) std::unique_ptr<msg::EnvelopeT>((*received)->UnPack());
  return 0;
}
