#include "datamanager/series/series_block.h"

#include <bit>
#include <cassert>
#include <cstring>

namespace datamanager {
namespace {

static_assert(std::endian::native == std::endian::little, "blocks are copied as they are");

constexpr std::size_t kHeader = 6;
constexpr std::size_t kMaxVarint = 10;

// How a column is stored. These numbers are part of the file format.
enum Kind : std::uint8_t {
  kStride = 0,  // Integers: first, difference.
  kDeltas = 1,  // Integers: first, difference, then how each further difference differs.
  kPlain = 2,   // Integers and values: 8 bytes each.
  kSame = 0,    // Values: one for all.
  kFloats = 1,  // Values: 4 bytes each.
};

template <typename T>
std::uint8_t* Put(std::uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof(value));
  return at + sizeof(value);
}

template <typename T>
T Get(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

// Maps numbers of small magnitude and either sign to small unsigned numbers.
std::uint64_t ZigZag(std::uint64_t value) { return (value << 1) ^ (0 - (value >> 63)); }
std::uint64_t UnZigZag(std::uint64_t value) { return (value >> 1) ^ (0 - (value & 1)); }

std::uint8_t* PutVarint(std::uint8_t* at, std::uint64_t value) {
  while (value >= 0x80) {
    *at++ = static_cast<std::uint8_t>(value | 0x80);
    value >>= 7;
  }
  *at++ = static_cast<std::uint8_t>(value);
  return at;
}

// Moves `at` past a varint. Returns false if it does not end before `end` or within 64 bits.
bool GetVarint(const char*& at, const char* end, std::uint64_t* value) {
  std::uint64_t result = 0;
  for (int shift = 0; shift < 70 && at != end; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(*at++);
    if (shift == 63 && byte > 1) return false;
    result |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) {
      *value = result;
      return true;
    }
  }
  return false;
}

// Encodes the number `number(point)` of each point. Stores them plainly if differences would take
// more than 8 bytes a number.
template <typename Number>
std::uint8_t* EncodeIntegers(std::span<const Point> points, Number number, std::uint8_t* out,
                             Kind* kind) {
  const std::size_t count = points.size();
  const std::uint64_t first = number(points[0]);
  const std::uint64_t stride = count > 1 ? number(points[1]) - first : 0;
  std::uint64_t last = first;
  std::size_t same = 1;
  for (; same < count; ++same) {
    const std::uint64_t next = number(points[same]);
    if (next != last + stride) break;
    last = next;
  }
  if (same == count) {
    *kind = kStride;
    return Put(Put(out, first), stride);
  }
  std::uint8_t deltas[16 + kMaxVarint * kBlockPoints];
  std::uint8_t* at = Put(Put(deltas, first), stride);
  std::uint64_t difference = stride;
  last = first + stride;
  for (std::size_t i = 2; i < count; ++i) {
    const std::uint64_t next = number(points[i]);
    const std::uint64_t change = ZigZag(next - last - difference);
    difference = next - last;
    last = next;
    if (change < 0x80) {
      *at++ = static_cast<std::uint8_t>(change);
    } else {
      at = PutVarint(at, change);
    }
  }
  const auto length = static_cast<std::size_t>(at - deltas);
  if (length < 8 * count) {
    *kind = kDeltas;
    std::memcpy(out, deltas, length);
    return out + length;
  }
  *kind = kPlain;
  for (const Point& point : points) out = Put(out, number(point));
  return out;
}

std::uint8_t* EncodeValues(std::span<const Point> points, std::uint8_t* out, Kind* kind) {
  const auto first = std::bit_cast<std::uint64_t>(points.front().value);
  std::uint64_t unlike_first = 0;
  std::uint64_t unlike_float = 0;
  std::uint8_t* at = out;
  for (const Point& point : points) {
    const auto bits = std::bit_cast<std::uint64_t>(point.value);
    // The conversion may change bits of a NaN; that is noticed like any other difference.
    const auto narrow = static_cast<float>(point.value);
    unlike_first |= bits ^ first;
    unlike_float |= bits ^ std::bit_cast<std::uint64_t>(static_cast<double>(narrow));
    at = Put(at, narrow);
  }
  if (unlike_first == 0) {
    *kind = kSame;
    return Put(out, first);
  }
  if (unlike_float == 0) {
    *kind = kFloats;
    return at;
  }
  *kind = kPlain;
  at = out;
  for (const Point& point : points) at = Put(at, point.value);
  return at;
}

// Calls `put(i, number)` for the first `count` numbers.
template <typename PutNumber>
bool DecodeIntegers(Kind kind, std::string_view column, std::size_t count, PutNumber put,
                    const char** end) {
  const char* at = column.data();
  if (kind == kPlain) {
    for (std::size_t i = 0; i < count; ++i, at += 8) put(i, Get<std::uint64_t>(at));
    *end = at;
    return true;
  }
  auto number = Get<std::uint64_t>(at);
  auto difference = Get<std::uint64_t>(at + 8);
  at += 16;
  if (kind == kStride) {
    for (std::size_t i = 0; i < count; ++i, number += difference) put(i, number);
    *end = at;
    return true;
  }
  if (count > 0) put(0, number);
  if (count > 1) put(1, number += difference);
  const char* const behind = column.data() + column.size();
  for (std::size_t i = 2; i < count; ++i) {
    std::uint64_t change;
    if (at != behind && static_cast<std::uint8_t>(*at) < 0x80) {
      change = static_cast<std::uint8_t>(*at++);
    } else if (!GetVarint(at, behind, &change)) {
      return false;
    }
    difference += UnZigZag(change);
    put(i, number += difference);
  }
  *end = at;
  return true;
}

bool IntegersFit(Kind kind, std::size_t length, std::size_t count) {
  switch (kind) {
    case kStride:
      return length == 16;
    case kDeltas:
      return count > 2 && length >= 16 + (count - 2);
    default:
      return kind == kPlain && length == 8 * count;
  }
}

bool ValuesFit(Kind kind, std::size_t length, std::size_t count) {
  switch (kind) {
    case kSame:
      return length == 8;
    case kFloats:
      return length == 4 * count;
    default:
      return kind == kPlain && length == 8 * count;
  }
}

Kind StepKind(std::uint8_t kinds) { return static_cast<Kind>(kinds & 3); }
Kind WallTimeKind(std::uint8_t kinds) { return static_cast<Kind>((kinds >> 2) & 3); }
Kind ValueKind(std::uint8_t kinds) { return static_cast<Kind>((kinds >> 4) & 3); }

}  // namespace

std::size_t EncodeBlock(std::span<const Point> points,
                        std::span<std::uint8_t, kMaxBlockBytes> block) {
  const std::size_t count = points.size();
  assert(count >= 1 && count <= kBlockPoints);
  const auto step = [](const Point& point) { return static_cast<std::uint64_t>(point.step); };
  const auto wall_time = [](const Point& point) {
    return std::bit_cast<std::uint64_t>(point.wall_time);
  };
  std::uint8_t* const begin = block.data();
  std::uint8_t* const step_begin = begin + kHeader;
  Kind step_kind, wall_time_kind, value_kind;
  std::uint8_t* const step_end = EncodeIntegers(points, step, step_begin, &step_kind);
  std::uint8_t* const wall_time_end = EncodeIntegers(points, wall_time, step_end, &wall_time_kind);
  std::uint8_t* const end = EncodeValues(points, wall_time_end, &value_kind);
  begin[0] = static_cast<std::uint8_t>(step_kind | wall_time_kind << 2 | value_kind << 4);
  begin[1] = static_cast<std::uint8_t>(count);
  Put(begin + 2, static_cast<std::uint16_t>(step_end - step_begin));
  Put(begin + 4, static_cast<std::uint16_t>(wall_time_end - step_end));
  return static_cast<std::size_t>(end - begin);
}

std::optional<BlockColumns> BlockColumns::Parse(std::string_view block) {
  if (block.size() < kHeader || block.size() > kMaxBlockBytes) return std::nullopt;
  BlockColumns columns;
  columns.kinds_ = static_cast<std::uint8_t>(block[0]);
  columns.count_ = static_cast<std::uint8_t>(block[1]);
  if (columns.count_ < 1 || columns.count_ > kBlockPoints || columns.kinds_ >> 6 != 0) {
    return std::nullopt;
  }
  const std::size_t steps = Get<std::uint16_t>(block.data() + 2);
  const std::size_t wall_times = Get<std::uint16_t>(block.data() + 4);
  block.remove_prefix(kHeader);
  if (steps + wall_times > block.size()) return std::nullopt;
  columns.steps_ = block.substr(0, steps);
  columns.wall_times_ = block.substr(steps, wall_times);
  columns.values_ = block.substr(steps + wall_times);
  if (!IntegersFit(StepKind(columns.kinds_), steps, columns.count_) ||
      !IntegersFit(WallTimeKind(columns.kinds_), wall_times, columns.count_) ||
      !ValuesFit(ValueKind(columns.kinds_), columns.values_.size(), columns.count_)) {
    return std::nullopt;
  }
  return columns;
}

bool BlockColumns::Steps(std::span<std::int64_t> out) const {
  const char* end;
  const auto put = [&](std::size_t i, std::uint64_t number) {
    out[i] = static_cast<std::int64_t>(number);
  };
  if (!DecodeIntegers(StepKind(kinds_), steps_, out.size(), put, &end)) return false;
  return out.size() < count_ || end == steps_.data() + steps_.size();
}

bool BlockColumns::WallTimes(std::span<double> out) const {
  const char* end;
  const auto put = [&](std::size_t i, std::uint64_t number) {
    out[i] = std::bit_cast<double>(number);
  };
  if (!DecodeIntegers(WallTimeKind(kinds_), wall_times_, out.size(), put, &end)) return false;
  return out.size() < count_ || end == wall_times_.data() + wall_times_.size();
}

bool BlockColumns::Values(std::span<double> out) const {
  const char* at = values_.data();
  switch (ValueKind(kinds_)) {
    case kSame:
      for (double& value : out) value = Get<double>(at);
      return true;
    case kFloats:
      for (double& value : out) {
        value = Get<float>(at);
        at += sizeof(float);
      }
      return true;
    default:
      std::memcpy(out.data(), at, out.size_bytes());
      return true;
  }
}

std::size_t DecodeBlock(std::string_view block, std::span<Point, kBlockPoints> points) {
  const std::optional<BlockColumns> columns = BlockColumns::Parse(block);
  if (!columns.has_value()) return 0;
  const std::size_t count = columns->count();
  std::int64_t steps[kBlockPoints];
  double wall_times[kBlockPoints];
  double values[kBlockPoints];
  if (!columns->Steps({steps, count}) || !columns->WallTimes({wall_times, count}) ||
      !columns->Values({values, count})) {
    return 0;
  }
  for (std::size_t i = 0; i < count; ++i) points[i] = {steps[i], wall_times[i], values[i]};
  return count;
}

}  // namespace datamanager
