#ifndef DATAMANAGER_MEMORY_BUDGET_H_
#define DATAMANAGER_MEMORY_BUDGET_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace datamanager {

// How much memory points may take if nobody says so: a quarter of what this process may use, in
// bytes. MindInsight keeps 15 runs instead, whatever their size.

// The text of a small file; nothing if it cannot be read.
using TextReader = std::function<std::optional<std::string>(const std::string& path)>;

// What a process may use: the host's memory, or less if a control group says so, its own or one
// around it, of version 2 (memory.max, memory.high) or 1 (memory.limit_in_bytes). Reads
// /proc/meminfo, /proc/self/cgroup, /proc/self/mountinfo and the limits that these lead to. Nothing
// if not even the host's memory can be told.
std::optional<std::uint64_t> UsableMemory(const TextReader& read);

// A quarter of it, or kUnknownMemoryBudget. Blocks on files of the kernel.
inline constexpr std::uint64_t kUnknownMemoryBudget = std::uint64_t{256} << 20;
std::uint64_t DefaultMemoryBudget();
std::uint64_t MemoryBudget(std::optional<std::uint64_t> usable);

}  // namespace datamanager

#endif  // DATAMANAGER_MEMORY_BUDGET_H_
