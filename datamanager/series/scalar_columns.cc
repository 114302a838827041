#include "datamanager/series/scalar_columns.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

// Always true:
// - The points are those of the blocks, then those of the tail. A block is full unless another
//   series was appended after it.
// - levels[0] has a node for each block; levels[k] has one for each complete group of 16 nodes of
//   the level below, and none for the remaining nodes. No level is empty.
// - The capacity of the tail is 0 or a power of two, at most kBlockPoints. The tail is sealed when
//   a point arrives for which it has no room, not before.

namespace datamanager {
namespace {

constexpr std::size_t kFanOut = 16;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Adds `value(i)` for all i < count.
template <typename Value>
void AddValues(Column& column, std::size_t count, Value value) {
  // A value that is not finite shows in the sum; a second pass then skips it.
  double min = kInfinity;
  double max = -kInfinity;
  double zeros = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double v = value(i);
    min = v < min ? v : min;
    max = v > max ? v : max;
    zeros += v * 0;
  }
  if (zeros != 0) {  // Some value is not finite.
    min = kInfinity;
    max = -kInfinity;
    for (std::size_t i = 0; i < count; ++i) {
      const double v = value(i);
      if (!std::isfinite(v)) {
        ++column.not_finite;
        continue;
      }
      min = std::min(min, v);
      max = std::max(max, v);
    }
  }
  if (min > max) return;
  // Also true for NaN, the value before the first finite one.
  if (!(column.min <= min)) column.min = min;
  if (!(column.max >= max)) column.max = max;
}

Column Open(std::int64_t step, double value) {
  return {.first_step = step, .last_step = step, .first = value, .min = kNaN, .max = kNaN};
}

void Close(Column& column, std::int64_t step, double wall_time, double value, std::size_t added) {
  column.last_step = step;
  column.last_wall_time = wall_time;
  column.last = value;
  column.count += static_cast<std::uint32_t>(added);
}

// Extends `column` by `more`, which follows it.
void Join(Column& column, const Column& more) {
  Close(column, more.last_step, more.last_wall_time, more.last, more.count);
  column.not_finite += more.not_finite;
  if (std::isnan(more.min)) return;
  if (!(column.min <= more.min)) column.min = more.min;
  if (!(column.max >= more.max)) column.max = more.max;
}

Column Summarize(std::span<const Point> points) {
  Column column = Open(points.front().step, points.front().value);
  AddValues(column, points.size(), [&](std::size_t i) { return points[i].value; });
  Close(column, points.back().step, points.back().wall_time, points.back().value, points.size());
  return column;
}

// Returns the distance between two steps, exact for the whole range of int64.
std::uint64_t Distance(std::int64_t from, std::int64_t to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

// A decoded block, as three columns.
struct Decoded {
  std::size_t count = 0;
  std::int64_t steps[kBlockPoints];
  double wall_times[kBlockPoints];
  double values[kBlockPoints];
};

}  // namespace

struct ScalarColumns::Block {
  std::uint64_t first = 0;  // Place of its first point.
  std::uint32_t length = 0;
  std::unique_ptr<char[]> bytes;

  std::string_view view() const { return {bytes.get(), length}; }
  // Always valid, because blocks are verified when they are added.
  BlockColumns columns() const { return *BlockColumns::Parse(view()); }
};

struct ScalarColumns::Sealed {
  std::vector<Block> blocks;
  std::vector<std::vector<Column>> levels;
  std::size_t block_bytes = 0;
};

// Makes the columns of an answer from points and nodes, which arrive in the order of steps.
class ScalarColumns::Builder {
 public:
  // `overlaps`: a node that begins in a column may end in the next one; the column then extends to
  // the end of the node.
  Builder(std::int64_t first_step, std::int64_t last_step, std::size_t limit, bool one_each,
          bool overlaps, std::size_t most_columns)
      : origin_(first_step),
        // At least 1, and large enough that no step falls into column `limit`.
        width_(Distance(first_step, last_step) / limit + 1),
        one_column_(limit == 1),
        one_each_(one_each),
        overlaps_(overlaps) {
    columns_.reserve(most_columns);
  }

  // Adds a node that falls into one column; returns false if it does not.
  bool AddWhole(const Column& node) {
    if (one_each_) return false;
    if (Holds(node.first_step)) {
      if (!Ends(node.last_step, last_inside_)) return false;
      Join(columns_.back(), node);
      return true;
    }
    const std::uint64_t last_inside = LastInColumnOf(node.first_step);
    if (!Ends(node.last_step, last_inside)) return false;
    last_inside_ = last_inside;
    columns_.push_back(node);
    return true;
  }

  // Adds points. Requests wall times one by one, and only of points that end a column.
  template <typename WallTime>
  void AddPoints(std::span<const std::int64_t> steps, std::span<const double> values,
                 WallTime wall_time) {
    for (std::size_t i = 0; i < steps.size();) {
      if (one_each_ || !Holds(steps[i])) {
        columns_.push_back(Open(steps[i], values[i]));
        last_inside_ = LastInColumnOf(steps[i]);
      }
      Column& column = columns_.back();
      const auto rest = steps.subspan(i + 1);
      const auto end =
          one_each_ ? i + 1
                    : static_cast<std::size_t>(
                          std::partition_point(rest.begin(), rest.end(),
                                               [&](std::int64_t step) { return Holds(step); }) -
                          steps.begin());
      AddValues(column, end - i, [&](std::size_t k) { return values[i + k]; });
      Close(column, steps[end - 1], wall_time(end - 1), values[end - 1], end - i);
      i = end;
    }
  }

  std::vector<Column> Take() { return std::move(columns_); }

 private:
  // True if `step`, which must not be smaller than earlier ones, falls into the open column.
  bool Holds(std::int64_t step) const {
    return !columns_.empty() &&
           (Distance(origin_, step) <= last_inside_ || step == columns_.back().last_step);
  }
  // True if a node may end at `step` in the column whose last step has that distance.
  bool Ends(std::int64_t step, std::uint64_t last_inside) const {
    const std::uint64_t distance = Distance(origin_, step);
    return distance <= last_inside || (overlaps_ && distance - last_inside < width_);
  }
  // Returns the distance of the last step in the same column as `step`.
  std::uint64_t LastInColumnOf(std::int64_t step) const {
    // (A single column for the whole range of steps would have a width of 2^64.)
    if (one_column_) return std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t begin = Distance(origin_, step) / width_ * width_;
    const std::uint64_t last = begin + (width_ - 1);
    return last < begin ? std::numeric_limits<std::uint64_t>::max() : last;
  }

  const std::int64_t origin_;
  const std::uint64_t width_;
  const bool one_column_;
  const bool one_each_;
  const bool overlaps_;
  std::uint64_t last_inside_ = 0;  // Largest distance from origin_ inside the open (last) column.
  std::vector<Column> columns_;
};

ScalarColumns::ScalarColumns() = default;
ScalarColumns::~ScalarColumns() = default;

ScalarColumns::ScalarColumns(ScalarColumns&& other) noexcept { *this = std::move(other); }

ScalarColumns& ScalarColumns::operator=(ScalarColumns&& other) noexcept {
  tail_ = std::move(other.tail_);
  sealed_ = std::move(other.sealed_);
  sealed_points_ = std::exchange(other.sealed_points_, 0);
  last_step_ = std::exchange(other.last_step_, std::numeric_limits<std::int64_t>::min());
  tail_size_ = std::exchange(other.tail_size_, std::uint8_t{0});
  tail_capacity_ = std::exchange(other.tail_capacity_, std::uint8_t{0});
  sorted_ = std::exchange(other.sorted_, true);
  increasing_ = std::exchange(other.increasing_, true);
  return *this;
}

void ScalarColumns::NoteOrder(std::int64_t step) {
  if (empty()) return;
  increasing_ = false;
  if (step < last_step_) sorted_ = false;
}

void ScalarColumns::MakeRoom() {
  if (tail_size_ == kBlockPoints) {
    SealTail();
    return;
  }
  const std::size_t room = tail_capacity_ == 0 ? 1 : std::size_t{2} * tail_capacity_;
  auto tail = std::make_unique<Point[]>(room);
  std::copy_n(tail_.get(), tail_size_, tail.get());
  tail_ = std::move(tail);
  tail_capacity_ = static_cast<std::uint8_t>(room);
}

void ScalarColumns::SealTail() {
  if (tail_size_ == 0) return;
  const std::span<const Point> points(tail_.get(), tail_size_);
  std::uint8_t encoded[kMaxBlockBytes];
  const std::size_t length = EncodeBlock(points, encoded);
  Seal(points, {reinterpret_cast<const char*>(encoded), length});
  tail_size_ = 0;
}

void ScalarColumns::Seal(std::span<const Point> points, std::string_view encoded) {
  Block block{.length = static_cast<std::uint32_t>(encoded.size()),
              .bytes = std::make_unique_for_overwrite<char[]>(encoded.size())};
  std::memcpy(block.bytes.get(), encoded.data(), encoded.size());
  Push(std::move(block), Summarize(points));
}

void ScalarColumns::Push(Block block, const Column& column) {
  if (sealed_ == nullptr) sealed_ = std::make_unique<Sealed>();
  Sealed& sealed = *sealed_;
  block.first = sealed_points_;
  sealed_points_ += column.count;
  sealed.block_bytes += block.length;
  sealed.blocks.push_back(std::move(block));
  if (sealed.levels.empty()) sealed.levels.emplace_back();
  sealed.levels[0].push_back(column);
  for (std::size_t level = 0; sealed.levels[level].size() % kFanOut == 0; ++level) {
    if (level + 1 == sealed.levels.size()) sealed.levels.emplace_back();
    const std::span<const Column> group = std::span(sealed.levels[level]).last(kFanOut);
    Column node = group.front();
    for (const Column& more : group.subspan(1)) Join(node, more);
    sealed.levels[level + 1].push_back(node);
  }
}

void ScalarColumns::Append(ScalarColumns&& other) {
  if (empty()) {
    *this = std::move(other);
    return;
  }
  if (other.empty()) return;
  ScalarColumns moved = std::move(other);
  if (moved.sealed_ != nullptr) {
    const std::int64_t first_step = moved.sealed_->levels[0].front().first_step;
    if (first_step <= last_step_) NoteOrder(first_step);
    sorted_ = sorted_ && moved.sorted_;
    increasing_ = increasing_ && moved.increasing_;
    SealTail();
    for (std::size_t i = 0; i < moved.sealed_->blocks.size(); ++i) {
      const Column& column = moved.sealed_->levels[0][i];
      last_step_ = column.last_step;
      Push(std::move(moved.sealed_->blocks[i]), column);
    }
  }
  for (std::size_t i = 0; i < moved.tail_size_; ++i) Append(moved.tail_[i]);
}

bool ScalarColumns::AppendBlock(std::string_view block) {
  Point points[kBlockPoints];
  const std::size_t count = DecodeBlock(block, points);
  if (count < kBlockPoints) {
    for (std::size_t i = 0; i < count; ++i) Append(points[i]);
    return count > 0;
  }
  if (points[0].step <= last_step_) NoteOrder(points[0].step);
  for (std::size_t i = 1; i < kBlockPoints; ++i) {
    sorted_ = sorted_ && points[i].step >= points[i - 1].step;
    increasing_ = increasing_ && points[i].step > points[i - 1].step;
  }
  last_step_ = points[kBlockPoints - 1].step;
  SealTail();
  Seal(points, block);
  return true;
}

void ScalarColumns::Truncate(std::uint64_t size) {
  if (size >= this->size()) return;
  if (size >= sealed_points_) {
    tail_size_ = static_cast<std::uint8_t>(size - sealed_points_);
  } else {
    const std::size_t keep = BlockAt(size);
    Point points[kBlockPoints];
    DecodeBlock(sealed_->blocks[keep].view(), points);
    const std::size_t rest = size - sealed_->blocks[keep].first;
    sealed_points_ = sealed_->blocks[keep].first;
    tail_size_ = 0;
    for (std::size_t i = keep; i < sealed_->blocks.size(); ++i) {
      sealed_->block_bytes -= sealed_->blocks[i].length;
    }
    sealed_->blocks.erase(sealed_->blocks.begin() + static_cast<std::ptrdiff_t>(keep),
                          sealed_->blocks.end());
    std::size_t nodes = keep;
    for (std::vector<Column>& level : sealed_->levels) {
      level.resize(nodes);
      nodes /= kFanOut;
    }
    while (!sealed_->levels.empty() && sealed_->levels.back().empty()) sealed_->levels.pop_back();
    if (sealed_->blocks.empty()) sealed_.reset();
    // These points were appended before in the same order, which was already judged.
    const bool sorted = sorted_;
    const bool increasing = increasing_;
    for (std::size_t i = 0; i < rest; ++i) Append(points[i]);
    sorted_ = sorted;
    increasing_ = increasing;
  }
  if (tail_size_ > 0) {
    last_step_ = tail_[tail_size_ - 1].step;
  } else if (sealed_ != nullptr) {
    last_step_ = sealed_->levels[0].back().last_step;
  }
}

std::size_t ScalarColumns::Bytes() const {
  std::size_t bytes = tail_capacity_ * sizeof(Point);
  if (sealed_ == nullptr) return bytes;
  bytes += sizeof(Sealed) + sealed_->block_bytes + sealed_->blocks.capacity() * sizeof(Block) +
           sealed_->levels.capacity() * sizeof(std::vector<Column>);
  for (const std::vector<Column>& level : sealed_->levels) {
    bytes += level.capacity() * sizeof(Column);
  }
  return bytes;
}

std::size_t ScalarColumns::BlockAt(std::uint64_t place) const {
  const auto after =
      std::upper_bound(sealed_->blocks.begin(), sealed_->blocks.end(), place,
                       [](std::uint64_t place, const Block& block) { return place < block.first; });
  return static_cast<std::size_t>(after - sealed_->blocks.begin()) - 1;
}

void ScalarColumns::Read(std::uint64_t first, std::uint64_t count,
                         std::vector<Point>* points) const {
  first = std::min(first, size());
  const std::uint64_t end = first + std::min(count, size() - first);
  if (first < sealed_points_ && first < end) {
    for (std::size_t i = BlockAt(first); i < sealed_->blocks.size(); ++i) {
      const Block& block = sealed_->blocks[i];
      if (block.first >= end) break;
      Point decoded[kBlockPoints];
      const std::size_t length = DecodeBlock(block.view(), decoded);
      const std::size_t from = first > block.first ? first - block.first : 0;
      const std::size_t to = std::min<std::uint64_t>(length, end - block.first);
      points->insert(points->end(), decoded + from, decoded + to);
    }
  }
  const std::uint64_t tail_first = std::max(first, sealed_points_);
  if (tail_first < end) {
    points->insert(points->end(), &tail_[tail_first - sealed_points_],
                   &tail_[0] + (end - sealed_points_));
  }
}

void ScalarColumns::ForEachBlock(const std::function<void(std::string_view)>& use) const {
  if (sealed_ != nullptr) {
    for (const Block& block : sealed_->blocks) use(block.view());
  }
  if (tail_size_ == 0) return;
  std::uint8_t encoded[kMaxBlockBytes];
  const std::size_t length = EncodeBlock({tail_.get(), tail_size_}, encoded);
  use({reinterpret_cast<const char*>(encoded), length});
}

template <typename Before>
std::uint64_t ScalarColumns::FirstNot(Before before) const {
  if (sealed_ != nullptr) {
    const std::vector<Column>& nodes = sealed_->levels[0];
    const auto node = std::partition_point(nodes.begin(), nodes.end(),
                                           [&](const Column& n) { return before(n.last_step); });
    if (node != nodes.end()) {
      const Block& block = sealed_->blocks[static_cast<std::size_t>(node - nodes.begin())];
      std::int64_t steps[kBlockPoints];
      block.columns().Steps({steps, node->count});
      return block.first + static_cast<std::uint64_t>(
                               std::partition_point(steps, steps + node->count, before) - steps);
    }
  }
  const Point* const tail = tail_.get();
  return sealed_points_ + static_cast<std::uint64_t>(
                              std::partition_point(tail, tail + tail_size_,
                                                   [&](const Point& p) { return before(p.step); }) -
                              tail);
}

ScalarColumns::Range ScalarColumns::Find(std::int64_t first_step, std::int64_t last_step) const {
  assert(sorted());
  if (first_step > last_step || empty()) return {};
  if (first_step <= StepAt(0) && last_step >= last_step_) return {0, size()};
  return {FirstNot([&](std::int64_t step) { return step < first_step; }),
          FirstNot([&](std::int64_t step) { return step <= last_step; })};
}

std::vector<Column> ScalarColumns::Columns(std::int64_t first_step, std::int64_t last_step,
                                           std::size_t limit) const {
  return MakeColumns(Find(first_step, last_step), limit, /*for_picture=*/false);
}

std::vector<Column> ScalarColumns::PictureColumns(std::int64_t first_step, std::int64_t last_step,
                                                  std::size_t limit) const {
  const Range range = Find(first_step, last_step);
  // Makes the columns as wide as the nodes of a level, if at least half of them remain.
  std::uint64_t nodes = range.size() / kBlockPoints;
  if (limit == 0 || nodes <= limit) return MakeColumns(range, limit, /*for_picture=*/false);
  while (nodes > limit) nodes /= kFanOut;
  return MakeColumns(range, nodes >= (limit + 1) / 2 ? nodes : limit, /*for_picture=*/true);
}

// The steps at both ends are known without reading a block.
std::int64_t ScalarColumns::StepAt(std::uint64_t place) const {
  if (place + 1 == size()) return last_step_;
  if (place >= sealed_points_) return tail_[place - sealed_points_].step;
  if (place == 0) return sealed_->levels[0].front().first_step;
  std::vector<Point> points;
  Read(place, 1, &points);
  return points.front().step;
}

std::vector<Column> ScalarColumns::MakeColumns(Range range, std::size_t limit,
                                               bool for_picture) const {
  if (range.size() == 0 || limit == 0) return {};
  Builder builder(StepAt(range.first), StepAt(range.end - 1), limit, range.size() <= limit,
                  for_picture, std::min<std::uint64_t>(limit, range.size()));
  AddSealed({range.first, std::min(range.end, sealed_points_)}, builder);
  const std::uint64_t tail_first = std::max(range.first, sealed_points_);
  for (std::uint64_t place = tail_first; place < range.end; ++place) {
    const Point& point = tail_[place - sealed_points_];
    builder.AddPoints({&point.step, 1}, {&point.value, 1},
                      [&](std::size_t) { return point.wall_time; });
  }
  return builder.Take();
}

void ScalarColumns::AddSealed(Range range, Builder& builder) const {
  if (range.first >= range.end) return;
  const auto& levels = sealed_->levels;
  const std::vector<Block>& blocks = sealed_->blocks;
  for (std::size_t i = BlockAt(range.first); i < blocks.size() && blocks[i].first < range.end;) {
    const Column& node = levels[0][i];
    const bool whole = range.first <= blocks[i].first && blocks[i].first + node.count <= range.end;
    if (whole) {
      // Finds the largest node that begins here, ends within the range, and is in one column.
      std::size_t level = 0;
      std::size_t width = 1;
      for (std::size_t at = i; at % kFanOut == 0 && level + 1 < levels.size();) {
        at /= kFanOut;
        if (at >= levels[level + 1].size()) break;
        const std::size_t next = (at + 1) * width * kFanOut;
        if (next < blocks.size() ? blocks[next].first > range.end : sealed_points_ > range.end) {
          break;
        }
        ++level;
        width *= kFanOut;
      }
      bool added = builder.AddWhole(levels[level][i / width]);
      while (!added && level > 0) {
        --level;
        width /= kFanOut;
        added = builder.AddWhole(levels[level][i / width]);
      }
      if (added) {
        i += width;
        continue;
      }
    }
    Decoded decoded;
    const BlockColumns columns = blocks[i].columns();
    const std::size_t from = range.first > blocks[i].first ? range.first - blocks[i].first : 0;
    const std::size_t to = std::min<std::uint64_t>(node.count, range.end - blocks[i].first);
    columns.Steps({decoded.steps, to});
    columns.Values({decoded.values, to});
    builder.AddPoints({decoded.steps + from, to - from}, {decoded.values + from, to - from},
                      [&](std::size_t offset) {
                        const std::size_t at = from + offset;
                        if (at + 1 == node.count) return node.last_wall_time;
                        if (decoded.count <= at) {
                          // In most blocks at most one column ends; the others are decoded
                          // completely.
                          decoded.count = decoded.count == 0 ? at + 1 : to;
                          columns.WallTimes({decoded.wall_times, decoded.count});
                        }
                        return decoded.wall_times[at];
                      });
    ++i;
  }
}

}  // namespace datamanager
