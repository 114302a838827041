#include "tuning/space/draws.h"

#include <cstdint>
#include <string_view>

namespace tuning {
namespace {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection in which each input bit
// affects half of the output bits.
std::uint64_t Mix(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// The length distinguishes sequences of texts with the same concatenation.
std::uint64_t MixText(std::uint64_t state, std::string_view text) {
  state = Mix(state ^ text.size());
  for (const char c : text) state = Mix(state ^ static_cast<unsigned char>(c));
  return state;
}

}  // namespace

Draws::Draws(std::uint64_t seed, std::string_view purpose, std::uint64_t trial,
             std::string_view parameter)
    : stream_(MixText(Mix(MixText(Mix(seed), purpose) ^ trial), parameter)) {}

std::uint64_t Draws::Bits() { return Mix(stream_ ^ Mix(drawn_++)); }

double Draws::Uniform() { return static_cast<double>(Bits() >> 11) * 0x1.0p-53; }

std::uint64_t Draws::Below(std::uint64_t count) {
  // Numbers beyond the last whole multiple of `count` would favour small remainders.
  const std::uint64_t past = -count % count;  // 2^64 mod count.
  while (true) {
    const std::uint64_t bits = Bits();
    if (bits >= past) return bits % count;
  }
}

}  // namespace tuning
