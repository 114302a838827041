#include "tuning/sample/sobol.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tuning/space/draws.h"

namespace tuning {
namespace {

constexpr int kBits = 32;

// A primitive polynomial over the integers modulo 2, its coefficients as bits, with the first
// direction numbers: dimensions 1 to 63 of new-joe-kuo-6 (Joe, Kuo 2008). Dimension 0 needs none.
struct Row {
  std::uint32_t polynomial;
  std::array<std::uint32_t, 9> first;
};
constexpr std::array<Row, kMostSobolDimensions - 1> kRows = {{
    {3, {1}},
    {7, {1, 3}},
    {11, {1, 3, 1}},
    {13, {1, 1, 1}},
    {19, {1, 1, 3, 3}},
    {25, {1, 3, 5, 13}},
    {37, {1, 1, 5, 5, 17}},
    {41, {1, 1, 5, 5, 5}},
    {47, {1, 1, 7, 11, 19}},
    {55, {1, 1, 5, 1, 1}},
    {59, {1, 1, 1, 3, 11}},
    {61, {1, 3, 5, 5, 31}},
    {67, {1, 3, 3, 9, 7, 49}},
    {91, {1, 1, 1, 15, 21, 21}},
    {97, {1, 3, 1, 13, 27, 49}},
    {103, {1, 1, 1, 15, 7, 5}},
    {109, {1, 3, 1, 15, 13, 25}},
    {115, {1, 1, 5, 5, 19, 61}},
    {131, {1, 3, 7, 11, 23, 15, 103}},
    {137, {1, 3, 7, 13, 13, 15, 69}},
    {143, {1, 1, 3, 13, 7, 35, 63}},
    {145, {1, 3, 5, 9, 1, 25, 53}},
    {157, {1, 3, 1, 13, 9, 35, 107}},
    {167, {1, 3, 1, 5, 27, 61, 31}},
    {171, {1, 1, 5, 11, 19, 41, 61}},
    {185, {1, 3, 5, 3, 3, 13, 69}},
    {191, {1, 1, 7, 13, 1, 19, 1}},
    {193, {1, 3, 7, 5, 13, 19, 59}},
    {203, {1, 1, 3, 9, 25, 29, 41}},
    {211, {1, 3, 5, 13, 23, 1, 55}},
    {213, {1, 3, 7, 3, 13, 59, 17}},
    {229, {1, 3, 1, 3, 5, 53, 69}},
    {239, {1, 1, 5, 5, 23, 33, 13}},
    {241, {1, 1, 7, 7, 1, 61, 123}},
    {247, {1, 1, 7, 9, 13, 61, 49}},
    {253, {1, 3, 3, 5, 3, 55, 33}},
    {285, {1, 3, 1, 15, 31, 13, 49, 245}},
    {299, {1, 3, 5, 15, 31, 59, 63, 97}},
    {301, {1, 3, 1, 11, 11, 11, 77, 249}},
    {333, {1, 3, 1, 11, 27, 43, 71, 9}},
    {351, {1, 1, 7, 15, 21, 11, 81, 45}},
    {355, {1, 3, 7, 3, 25, 31, 65, 79}},
    {357, {1, 3, 1, 1, 19, 11, 3, 205}},
    {361, {1, 1, 5, 9, 19, 21, 29, 157}},
    {369, {1, 3, 7, 11, 1, 33, 89, 185}},
    {391, {1, 3, 3, 3, 15, 9, 79, 71}},
    {397, {1, 3, 7, 11, 15, 39, 119, 27}},
    {425, {1, 1, 3, 1, 11, 31, 97, 225}},
    {451, {1, 1, 1, 3, 23, 43, 57, 177}},
    {463, {1, 3, 7, 7, 17, 17, 37, 71}},
    {487, {1, 3, 1, 5, 27, 63, 123, 213}},
    {501, {1, 1, 3, 5, 11, 43, 53, 133}},
    {529, {1, 3, 5, 5, 29, 17, 47, 173, 479}},
    {539, {1, 3, 3, 11, 3, 1, 109, 9, 69}},
    {545, {1, 1, 1, 5, 17, 39, 23, 5, 343}},
    {557, {1, 3, 1, 5, 25, 15, 31, 103, 499}},
    {563, {1, 1, 1, 11, 11, 17, 63, 105, 183}},
    {601, {1, 1, 5, 11, 9, 29, 97, 231, 363}},
    {607, {1, 1, 5, 15, 19, 45, 41, 7, 383}},
    {617, {1, 3, 7, 7, 31, 19, 83, 137, 221}},
    {623, {1, 1, 1, 3, 23, 15, 111, 223, 83}},
    {631, {1, 1, 5, 13, 31, 15, 55, 25, 161}},
    {637, {1, 1, 3, 13, 25, 47, 39, 87, 257}},
}};

using Directions = std::array<std::uint32_t, kBits>;

constexpr Directions DirectionsOf(std::size_t dimension) {
  Directions directions = {};
  if (dimension == 0) {
    for (int k = 0; k < kBits; ++k) directions[static_cast<std::size_t>(k)] = 1u << (31 - k);
    return directions;
  }
  const Row& row = kRows[dimension - 1];
  const auto degree = static_cast<std::size_t>(std::bit_width(row.polynomial)) - 1;
  for (std::size_t k = 0; k < degree; ++k) directions[k] = row.first[k] << (31 - k);
  for (std::size_t k = degree; k < kBits; ++k) {
    directions[k] = directions[k - degree] ^ (directions[k - degree] >> degree);
    for (std::size_t i = 1; i < degree; ++i) {
      if ((row.polynomial >> (degree - i)) & 1) directions[k] ^= directions[k - i];
    }
  }
  return directions;
}

const std::array<Directions, kMostSobolDimensions>& AllDirections() {
  static const auto kAll = [] {
    std::array<Directions, kMostSobolDimensions> all = {};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = DirectionsOf(i);
    return all;
  }();
  return kAll;
}

}  // namespace

std::uint32_t SobolBits(std::size_t dimension, std::uint32_t index) {
  const Directions& directions = AllDirections()[dimension];
  std::uint32_t bits = 0;
  for (std::uint32_t gray = index ^ (index >> 1); gray != 0; gray &= gray - 1) {
    bits ^= directions[static_cast<std::size_t>(std::countr_zero(gray))];
  }
  return bits;
}

double ScrambledSobol(std::size_t dimension, std::uint32_t index, std::uint64_t seed,
                      std::string_view name) {
  const std::uint32_t bits = SobolBits(dimension, index);
  std::uint32_t scrambled = 0;
  for (int k = 0; k < kBits; ++k) {
    // Whether a bit is flipped depends on the bits before it; the leading 1 makes prefixes of
    // different lengths distinct.
    const std::uint64_t before = (std::uint64_t{1} << k) | (std::uint64_t{bits} >> (kBits - k));
    const std::uint32_t turned =
        static_cast<std::uint32_t>(Draws(seed, "sobol", before, name).Bits() & 1);
    scrambled |= (((bits >> (31 - k)) & 1) ^ turned) << (31 - k);
  }
  return (scrambled + Draws(seed, "sobol end", index, name).Uniform()) * 0x1.0p-32;
}

}  // namespace tuning
