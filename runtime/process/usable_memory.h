#ifndef RUNTIME_PROCESS_USABLE_MEMORY_H_
#define RUNTIME_PROCESS_USABLE_MEMORY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace runtime {

// The text of a small file; nothing if it cannot be read.
using TextReader = std::function<std::optional<std::string>(const std::string& path)>;

// The memory that a process may use, in bytes: the host's, or less if its control group, or one
// around that, limits it, of version 2 (memory.max, memory.high) or 1 (memory.limit_in_bytes).
// Reads /proc/meminfo, /proc/self/cgroup, /proc/self/mountinfo and the limits that these lead to.
// Nothing if not even the host's memory can be told.
std::optional<std::uint64_t> UsableMemory(const TextReader& read);
// The usable memory of this process. Blocks on files of the kernel.
std::optional<std::uint64_t> UsableMemory();

}  // namespace runtime

#endif  // RUNTIME_PROCESS_USABLE_MEMORY_H_
