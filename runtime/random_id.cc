#include "runtime/random_id.h"

#include <sys/random.h>

#include <cstdlib>

#include "absl/strings/str_format.h"
#include "runtime/string_view.h"

namespace runtime {
namespace {

std::uint64_t Random64() {
  std::uint64_t value = 0;
  // 8 bytes are never cut short once the kernel's pool is ready, for which this waits.
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
  }
  return value;
}

}  // namespace

std::uint64_t RandomId() {
  std::uint64_t id = 0;
  while (id == 0) id = Random64();
  return id;
}

std::string RandomName(std::string_view prefix) {
  std::string name(prefix);
  std::uint64_t bits = Random64();
  for (int i = 0; i < 5; ++i, bits /= 26) name.push_back(static_cast<char>('a' + bits % 26));
  return name;
}

std::string RandomHex128() { return absl::StrFormat("%016x%016x", Random64(), Random64()); }

}  // namespace runtime
