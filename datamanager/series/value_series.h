#ifndef DATAMANAGER_SERIES_VALUE_SERIES_H_
#define DATAMANAGER_SERIES_VALUE_SERIES_H_

// The places of a tag's values other than scalars: 40 bytes a value, whatever its size. Images,
// sounds, tensors, histograms and texts are read from their files on request, so every step is
// available, and 100 GB of images need a few megabytes of memory. TensorBoard keeps a sample of ten
// values, with their bytes.
//
// Not thread safe; const methods may run concurrently. Nothing here fails.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "datamanager/series/overlap_policy.h"

namespace datamanager {

// One value. Its bytes are at `offset` of a file of its run and have this CRC-32C (unmasked).
struct ValuePlace {
  std::int64_t step = 0;
  double wall_time = 0;  // Seconds since 1970.
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  std::uint32_t crc = 0;
  std::uint32_t file = 0;  // Number of the file in its run, which never changes.
  std::uint8_t form = 0;   // Kind of the bytes, as a number that their reader assigns.

  bool operator==(const ValuePlace&) const = default;
};
static_assert(sizeof(ValuePlace) == 40);

class ValueSeries {
 public:
  void Append(const ValuePlace& value) { values_.push_back(value); }
  std::size_t size() const { return values_.size(); }
  // In file order. Valid until the next Append().
  std::span<const ValuePlace> all() const { return values_; }
  // Returns the values with first_step <= step <= last_step that `policy` keeps, ordered by step.
  // Takes O(n log n) time.
  std::vector<ValuePlace> Select(const SeriesMarks& marks, Overlap policy, std::int64_t first_step,
                                 std::int64_t last_step) const;
  // Allocated bytes, without the object itself.
  std::size_t Bytes() const { return values_.capacity() * sizeof(ValuePlace); }

 private:
  std::vector<ValuePlace> values_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_SERIES_VALUE_SERIES_H_
