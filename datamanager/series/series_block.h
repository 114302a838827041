#ifndef DATAMANAGER_SERIES_SERIES_BLOCK_H_
#define DATAMANAGER_SERIES_SERIES_BLOCK_H_

// Up to 128 points of a scalar series in few bytes: about five a point where steps have a stride,
// wall times are a clock's and values were floats. Every bit comes back: NaN with its payload, the
// sign of zero, steps that wrap around. TensorBoard's Rust data server keeps 94 to 106 bytes a
// point, and a value as a float only.
//
//   byte 0      how each column is stored: steps in bits 0-1, wall times 2-3, values 4-5
//   byte 1      number of points, 1 to 128
//   bytes 2-5   length of the steps and of the wall times, 16 bits each, little endian
//   then        steps, wall times (the bits of the double), values
//
// A column of whole numbers is a stride (first, difference), or differences of differences as
// zigzag varints behind the same two, or plain, whichever is shortest. Values are one for all, or
// floats if they all come back exactly, or doubles. All numbers are little endian.
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
// The longest block: everything plain.
inline constexpr std::size_t kMaxBlockBytes = 6 + 24 * kBlockPoints;

// Writes 1 to kBlockPoints points and returns the length.
std::size_t EncodeBlock(std::span<const Point> points,
                        std::span<std::uint8_t, kMaxBlockBytes> block);

// The columns of a block, read one by one, each from its beginning as far as it is wanted.
class BlockColumns {
 public:
  // Nothing if these bytes are no block: a length or a count that is wrong, an unknown way to
  // store a column. Whether the varints are whole shows when they are read.
  static std::optional<BlockColumns> Parse(std::string_view block);

  std::size_t count() const { return count_; }
  // The first out.size() (at most count()) of a column. False, for a block that EncodeBlock() did
  // not write, if it ends early; nothing is ever read outside of it.
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

// Reads a whole block. The number of its points, which stand at the beginning of `points`; 0 if it
// is malformed, also by bytes that are left over.
std::size_t DecodeBlock(std::string_view block, std::span<Point, kBlockPoints> points);

}  // namespace datamanager

#endif  // DATAMANAGER_SERIES_SERIES_BLOCK_H_
