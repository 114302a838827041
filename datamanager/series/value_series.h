#ifndef DATAMANAGER_SERIES_VALUE_SERIES_H_
#define DATAMANAGER_SERIES_VALUE_SERIES_H_

// Where the values of a tag that are no scalars stand: 40 bytes a value, whatever its size. Images,
// sounds, tensors, histograms and texts are read from their files when somebody wants to see them,
// so every step can be reached, and 100 GB of images cost a few megabytes. TensorBoard keeps a
// sample of ten, with its bytes.
//
// Not thread safe; const methods may run together. Nothing fails.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "datamanager/series/overlap_policy.h"

namespace datamanager {

// One value. Its bytes stand at `offset` of a file of its run and have this CRC-32C (not masked).
struct ValuePlace {
  std::int64_t step = 0;
  double wall_time = 0;  // Seconds since 1970.
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  std::uint32_t crc = 0;
  std::uint32_t file = 0;  // The run's files have numbers, which stay.
  std::uint8_t form = 0;   // Kind of the bytes, as a number that their reader chooses.

  bool operator==(const ValuePlace&) const = default;
};
static_assert(sizeof(ValuePlace) == 40);

class ValueSeries {
 public:
  void Append(const ValuePlace& value) { values_.push_back(value); }
  std::size_t size() const { return values_.size(); }
  // In file order. Valid until the next Append().
  std::span<const ValuePlace> all() const { return values_; }
  // The values with first_step <= step <= last_step that `policy` keeps, in the order of steps.
  // Takes O(n log n).
  std::vector<ValuePlace> Select(const SeriesMarks& marks, Overlap policy, std::int64_t first_step,
                                 std::int64_t last_step) const;
  // Bytes allocated, without the object itself.
  std::size_t Bytes() const { return values_.capacity() * sizeof(ValuePlace); }

 private:
  std::vector<ValuePlace> values_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_SERIES_VALUE_SERIES_H_
