#ifndef RUNTIME_ALLOCATED_BYTES_H_
#define RUNTIME_ALLOCATED_BYTES_H_

#include <cstddef>

namespace runtime {

// What `new` has given out in this program and `delete` has not got back, to the byte: a program
// that links this counts, for tests of what a structure costs. Any thread.
std::size_t AllocatedBytes();

}  // namespace runtime

#endif  // RUNTIME_ALLOCATED_BYTES_H_
