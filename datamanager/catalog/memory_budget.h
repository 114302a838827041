#ifndef DATAMANAGER_CATALOG_MEMORY_BUDGET_H_
#define DATAMANAGER_CATALOG_MEMORY_BUDGET_H_

#include <cstdint>
#include <optional>

#include "runtime/process/usable_memory.h"

namespace datamanager {

// Default memory limit for points, in bytes: a quarter of the memory that this process may use, or
// kUnknownMemoryBudget. MindInsight keeps 15 runs instead, whatever their size.
inline constexpr std::uint64_t kUnknownMemoryBudget = std::uint64_t{256} << 20;
inline std::uint64_t MemoryBudget(std::optional<std::uint64_t> usable) {
  return usable.has_value() ? *usable / 4 : kUnknownMemoryBudget;
}
// Blocks on files of the kernel.
inline std::uint64_t DefaultMemoryBudget() { return MemoryBudget(runtime::UsableMemory()); }

}  // namespace datamanager

#endif  // DATAMANAGER_CATALOG_MEMORY_BUDGET_H_
