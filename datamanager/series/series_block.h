#ifndef DATAMANAGER_SERIES_SERIES_BLOCK_H_
#define DATAMANAGER_SERIES_SERIES_BLOCK_H_

// Stores up to 128 points of a scalar series in few bytes: about five per point if steps have a
// constant stride, wall times come from a clock, and values were floats. Decoding is exact to the
// bit: NaN with its payload, the sign of zero, steps that wrap around. TensorBoard's Rust data
// server uses 94 to 106 bytes a point, and stores a value only as a float.
//
//   byte 0      how each column is stored: steps in bits 0-1, wall times 2-3, values 4-5
//   byte 1      number of points, 1 to 128
//   bytes 2-5   length of the steps and of the wall times, 16 bits each, little endian
//   then        steps, wall times (the bits of the double), values
//
// A column of integers is stored as a stride (first, difference), as differences of differences
// (zigzag varints after the same two numbers), or plainly, whichever is shortest. Values are stored
// as one value for all, as floats if all of them convert exactly, or as doubles. All numbers are
// little endian.
//
// Pure functions; any thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "datamanager/series/columns.h"

namespace datamanager {

inline constexpr std::size_t kBlockPoints = 128;
// The longest block: all columns are plain.
inline constexpr std::size_t kMaxBlockBytes = 6 + 24 * kBlockPoints;

// Encodes 1 to kBlockPoints points; returns the length.
std::size_t EncodeBlock(std::span<const Point> points,
                        std::span<std::uint8_t, kMaxBlockBytes> block);

// The columns of a block, decoded one by one, each from its beginning as far as requested.
class BlockColumns {
 public:
  // Returns null for a malformed block: a wrong length or count, or an unknown encoding of a
  // column. Truncated varints are noticed only when they are decoded.
  static std::optional<BlockColumns> Parse(std::string_view block);

  std::size_t count() const { return count_; }
  // Decodes the first out.size() (at most count()) numbers of a column. Returns false if the column
  // ends early, which no block of EncodeBlock() does; never reads outside the block.
  bool Steps(std::span<std::int64_t> out) const;
  bool WallTimes(std::span<double> out) const;
  bool Values(std::span<double> out) const;

 private:
  BlockColumns() = default;

  std::size_t count_ = 0;
  std::uint8_t kinds_ = 0;
  std::string_view steps_;
  std::string_view wall_times_;
  std::string_view values_;
};

// Decodes a whole block to the beginning of `points` and returns the number of points; 0 if it is
// malformed or has extra bytes.
std::size_t DecodeBlock(std::string_view block, std::span<Point, kBlockPoints> points);

}  // namespace datamanager

#endif  // DATAMANAGER_SERIES_SERIES_BLOCK_H_
