#ifndef RUNTIME_ALLOCATED_BYTES_H_
#define RUNTIME_ALLOCATED_BYTES_H_

#include <cstddef>

namespace runtime {

// Returns the exact number of bytes that this program has allocated by `new` and not yet freed.
// Linking this library replaces `new` and `delete`; for tests of a structure's memory use. Any
// thread.
std::size_t AllocatedBytes();

}  // namespace runtime

#endif  // RUNTIME_ALLOCATED_BYTES_H_
