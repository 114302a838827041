#ifndef BUS_CALL_READ_ALL_H_
#define BUS_CALL_READ_ALL_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace bus {

// Does with a stranger's bytes all that the bus ever does with them: PeekKind, Receive, every
// field of what passes read by UnPack, and the same for the envelopes recorded in a SinceReply.
// True if they are a message. Ends the program on a promise of receive.h that is not kept.
bool ReadAll(std::span<const std::uint8_t> bytes, std::size_t limit);

}  // namespace bus

#endif  // BUS_CALL_READ_ALL_H_
