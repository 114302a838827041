#ifndef RUNTIME_PROCESS_USABLE_MEMORY_H_
#define RUNTIME_PROCESS_USABLE_MEMORY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace runtime {

// Returns the text of a small file; null if it cannot be read.
using TextReader = std::function<std::optional<std::string>(const std::string& path)>;

// Returns the memory that a process may use, in bytes: the host's, or less if its control group or
// an ancestor limits it, in version 2 (memory.max, memory.high) or 1 (memory.limit_in_bytes). Reads
// /proc/meminfo, /proc/self/cgroup, /proc/self/mountinfo and the limit files to which they lead.
// Null if even the host's memory is unknown.
std::optional<std::uint64_t> UsableMemory(const TextReader& read);
// Returns the usable memory of this process. Blocks on files of the kernel.
std::optional<std::uint64_t> UsableMemory();

}  // namespace runtime

#endif  // RUNTIME_PROCESS_USABLE_MEMORY_H_
