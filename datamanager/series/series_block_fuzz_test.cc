// Feeds arbitrary bytes: as a block, they are read or refused; as points, they survive a round
// trip.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "datamanager/series/columns.h"
#include "datamanager/series/series_block.h"

namespace {

using datamanager::kBlockPoints;
using datamanager::kMaxBlockBytes;
using datamanager::Point;

bool Same(const Point& a, const Point& b) {
  return a.step == b.step &&
         std::bit_cast<std::uint64_t>(a.wall_time) == std::bit_cast<std::uint64_t>(b.wall_time) &&
         std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
}

void MustComeBack(const std::vector<Point>& points) {
  std::array<std::uint8_t, kMaxBlockBytes> block;
  const std::size_t length = datamanager::EncodeBlock(points, block);
  std::array<Point, kBlockPoints> decoded;
  const std::string_view view(reinterpret_cast<const char*>(block.data()), length);
  if (datamanager::DecodeBlock(view, decoded) != points.size()) abort();
  if (!std::equal(points.begin(), points.end(), decoded.begin(), Same)) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::array<Point, kBlockPoints> decoded;
  const std::size_t count = datamanager::DecodeBlock(bytes, decoded);
  if (count > 0) MustComeBack({decoded.begin(), decoded.begin() + static_cast<int>(count)});
  // The same bytes, taken as numbers.
  std::vector<Point> points;
  for (; points.size() < kBlockPoints && size >= 24; data += 24, size -= 24) {
    Point point;
    std::memcpy(&point.step, data, 8);
    std::memcpy(&point.wall_time, data + 8, 8);
    std::memcpy(&point.value, data + 16, 8);
    points.push_back(point);
  }
  if (!points.empty()) MustComeBack(points);
  return 0;
}
