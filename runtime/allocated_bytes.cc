#include "runtime/allocated_bytes.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::size_t> allocated = 0;
// A block's size is stored in front of it.
constexpr std::size_t kFront = 16;
}  // namespace

std::size_t runtime::AllocatedBytes() { return allocated; }

void* operator new(std::size_t size) {
  auto* const front = static_cast<char*>(std::malloc(size + kFront));
  if (front == nullptr) throw std::bad_alloc();
  *reinterpret_cast<std::size_t*>(front) = size;
  allocated += size;
  return front + kFront;
}
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  char* const front = static_cast<char*>(memory) - kFront;
  allocated -= *reinterpret_cast<std::size_t*>(front);
  std::free(front);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete[](void* memory) noexcept { operator delete(memory); }
void operator delete[](void* memory, std::size_t) noexcept { operator delete(memory); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return operator new(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return operator new(size);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept { operator delete(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { operator delete(memory); }
