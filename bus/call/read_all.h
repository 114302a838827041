#ifndef BUS_CALL_READ_ALL_H_
#define BUS_CALL_READ_ALL_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace bus {

// Processes untrusted bytes in every way the bus does: PeekKind, Receive, then UnPack, which reads
// every field, and the same for the envelopes recorded in a SinceReply. Returns true if the bytes
// are a message. Aborts if a promise of receive.h is broken.
bool ReadAll(std::span<const std::uint8_t> bytes, std::size_t limit);

}  // namespace bus

#endif  // BUS_CALL_READ_ALL_H_
