#ifndef DATAMANAGER_SERIES_SCALAR_COLUMNS_H_
#define DATAMANAGER_SERIES_SCALAR_COLUMNS_H_

// Holds every point of one scalar tag, in six to nine bytes each, and computes the columns of a
// plot in microseconds. The readers of TensorBoard and MindInsight keep a sample instead.
//
// Points are stored in file order: full blocks (series_block.h), and up to 128 newest points
// uncompressed. Above the blocks is a pyramid: a Column for each block, one for each 16 of those,
// and so on. Columns() joins whole nodes of it and decodes only the blocks in which a column of the
// answer ends, so the cost of an answer depends on its columns, not on its points; it is still
// exact.
//
// Not thread safe; const methods may run concurrently. Only AppendBlock() can fail.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "datamanager/series/columns.h"
#include "datamanager/series/series_block.h"

namespace datamanager {

class ScalarColumns {
 public:
  // Points by their place in file order, [first, end).
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    std::uint64_t size() const { return end - first; }
    bool operator==(const Range&) const = default;
  };

  ScalarColumns();
  ~ScalarColumns();
  ScalarColumns(ScalarColumns&& other) noexcept;
  ScalarColumns& operator=(ScalarColumns&& other) noexcept;

  void Append(const Point& point) {
    if (point.step <= last_step_) NoteOrder(point.step);
    last_step_ = point.step;
    if (tail_size_ == tail_capacity_) MakeRoom();
    tail_[tail_size_++] = point;
  }
  // Appends all points of `other`, which is empty afterwards; moves its blocks instead of copying.
  void Append(ScalarColumns&& other);
  // Appends the points of a block, for example from a file. Returns false, and appends nothing, if
  // the block is malformed.
  bool AppendBlock(std::string_view block);
  // Removes the points from place `size` on.
  void Truncate(std::uint64_t size);

  std::uint64_t size() const { return sealed_points_ + tail_size_; }
  bool empty() const { return size() == 0; }
  // True if no step is smaller than the one before it. (Points that were later truncated count
  // too.)
  bool sorted() const { return sorted_; }
  // True if each step is larger than the one before it.
  bool increasing() const { return increasing_; }
  // Step of the last point in file order. The series must not be empty.
  std::int64_t last_step() const { return last_step_; }
  // Allocated bytes, as requested from the allocator, without the object itself. Constant time.
  std::size_t Bytes() const;

  // Appends points [first, first + count) in file order to `points`; fewer at the end.
  void Read(std::uint64_t first, std::uint64_t count, std::vector<Point>* points) const;
  // Calls `use` with blocks from which AppendBlock() makes an equal series. A block is valid during
  // the call.
  void ForEachBlock(const std::function<void(std::string_view)>& use) const;

  // The following methods require a sorted() series; step_view.h makes one.
  //
  // Returns the points with first_step <= step <= last_step.
  Range Find(std::int64_t first_step, std::int64_t last_step) const;
  // Reduces those points to at most `limit` columns of equal width in steps, with the same result
  // as ReduceToColumns().
  std::vector<Column> Columns(std::int64_t first_step, std::int64_t last_step,
                              std::size_t limit) const;
  // The same for a picture, in a twentieth of the time: a column that would end within a node of
  // the pyramid ends with that node, less than a column's width later, so that only the first and
  // the last block of the range are decoded. The number of columns may be halved, but never exceeds
  // `limit`. Each column is exact for the points from its first to its last step, and no two
  // columns share a step.
  std::vector<Column> PictureColumns(std::int64_t first_step, std::int64_t last_step,
                                     std::size_t limit) const;

 private:
  struct Block;
  struct Sealed;
  class Builder;

  void NoteOrder(std::int64_t step);
  void MakeRoom();
  // Seals the points of the tail, if any, in a block.
  void SealTail();
  void Seal(std::span<const Point> points, std::string_view encoded);
  void Push(Block block, const Column& column);
  // Returns the block of the point at `place`, which must be sealed.
  std::size_t BlockAt(std::uint64_t place) const;
  // Returns the first place for whose step `before` is false.
  template <typename Before>
  std::uint64_t FirstNot(Before before) const;
  std::int64_t StepAt(std::uint64_t place) const;
  void AddSealed(Range range, Builder& builder) const;
  std::vector<Column> MakeColumns(Range range, std::size_t limit, bool for_picture) const;

  std::unique_ptr<Point[]> tail_;
  std::unique_ptr<Sealed> sealed_;
  std::uint64_t sealed_points_ = 0;
  std::int64_t last_step_ = std::numeric_limits<std::int64_t>::min();
  std::uint8_t tail_size_ = 0;
  std::uint8_t tail_capacity_ = 0;
  bool sorted_ = true;
  bool increasing_ = true;
};

}  // namespace datamanager

#endif  // DATAMANAGER_SERIES_SCALAR_COLUMNS_H_
