#include "runtime/text/random_id.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace runtime {
namespace {

constexpr std::size_t kNameLetters = 5;

template <typename T>
T FromKernel() {
  T value;
  ssize_t got = -1;
  // The kernel returns up to 256 bytes completely, once its pool is ready.
  do {
    got = getrandom(&value, sizeof(value), 0);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof(value)) {
    std::perror("getrandom");
    std::abort();
  }
  return value;
}

}  // namespace

std::uint64_t RandomId() {
  for (;;) {
    if (const auto id = FromKernel<std::uint64_t>(); id != 0) return id;
  }
}

std::string RandomName(std::string_view prefix) {
  // Bytes from here on would make the first letters more likely than the others.
  constexpr unsigned kFair = 256 / 26 * 26;
  std::string name(prefix);
  while (name.size() < prefix.size() + kNameLetters) {
    for (const unsigned char byte : FromKernel<std::array<unsigned char, 8>>()) {
      if (byte >= kFair) continue;
      name.push_back(static_cast<char>('a' + byte % 26));
      if (name.size() == prefix.size() + kNameLetters) break;
    }
  }
  return name;
}

std::string RandomHex128() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : FromKernel<std::array<unsigned char, 16>>()) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace runtime
