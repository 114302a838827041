#ifndef DATAMANAGER_SERIES_SCALAR_COLUMNS_H_
#define DATAMANAGER_SERIES_SCALAR_COLUMNS_H_

// Every point of one scalar tag, in six to nine bytes each, and the columns of a plot in
// microseconds. TensorBoard's readers keep a sample instead, and MindInsight's too.
//
// Points are kept in file order: full blocks (series_block.h), and up to 128 newest points as they
// are. Over the blocks stands a pyramid: a Column for each block, one for each 16 of those, and so
// on. Columns() adds up whole nodes of it and reads only the blocks in which a column of the answer
// ends, so an answer costs what its columns cost, not what its points would, and is still exact.
//
// Not thread safe; const methods may run together. No method fails, but for AppendBlock().

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
  // Appends all points of `other`, which is empty afterwards; its blocks are moved, not copied.
  void Append(ScalarColumns&& other);
  // Appends the points of a block, from a file for instance. False, and nothing is appended, if it
  // is malformed.
  bool AppendBlock(std::string_view block);
  // Forgets the points from the place `size` on.
  void Truncate(std::uint64_t size);

  std::uint64_t size() const { return sealed_points_ + tail_size_; }
  bool empty() const { return size() == 0; }
  // No step is smaller than the one before it. (As all points were that ever came: what was
  // truncated is not forgiven.)
  bool sorted() const { return sorted_; }
  // Each step is larger than the one before it.
  bool increasing() const { return increasing_; }
  // Step of the last point in file order. Not for an empty series.
  std::int64_t last_step() const { return last_step_; }
  // Bytes allocated, as asked of the allocator, without the object itself. In constant time.
  std::size_t Bytes() const;

  // Appends points [first, first + count) in file order to `points`; fewer at the end.
  void Read(std::uint64_t first, std::uint64_t count, std::vector<Point>* points) const;
  // Calls `use` with blocks that AppendBlock() makes an equal series of. A block is valid during
  // the call.
  void ForEachBlock(const std::function<void(std::string_view)>& use) const;

  // For a series that is sorted(); for another see step_view.h.
  //
  // The points with first_step <= step <= last_step.
  Range Find(std::int64_t first_step, std::int64_t last_step) const;
  // Reduces those to at most `limit` columns of equal width in steps, exactly as
  // ReduceToColumns() would.
  std::vector<Column> Columns(std::int64_t first_step, std::int64_t last_step,
                              std::size_t limit) const;
  // The same for a picture, in a twentieth of the time: a column that would end within a node of
  // the pyramid ends with it, less than a column's width later, so that no block is read but those
  // in which the range begins and ends. There may be half as many columns, never more. Each is
  // exact for the points from its first to its last step, and no two of them share a step.
  std::vector<Column> PictureColumns(std::int64_t first_step, std::int64_t last_step,
                                     std::size_t limit) const;

 private:
  struct Block;
  struct Sealed;
  class Builder;

  void NoteOrder(std::int64_t step);
  void MakeRoom();
  // Makes a block of the tail, if there are points in it.
  void SealTail();
  void Seal(std::span<const Point> points, std::string_view encoded);
  void Push(Block block, const Column& column);
  // Block that holds the point at `place`, which is sealed.
  std::size_t BlockAt(std::uint64_t place) const;
  // The first place whose step is not before the one that is looked for, as `before` says.
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
