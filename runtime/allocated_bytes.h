#ifndef RUNTIME_ALLOCATED_BYTES_H_
#define RUNTIME_ALLOCATED_BYTES_H_

#include <cstddef>

namespace runtime {

// The bytes that `new` has given out in this program and `delete` has not got back, exactly. A
// program that links this counts them, for tests of the memory that a structure takes. Any thread.
std::size_t AllocatedBytes();

}  // namespace runtime

#endif  // RUNTIME_ALLOCATED_BYTES_H_
