#ifndef DATAMANAGER_SERIES_STEP_VIEW_H_
#define DATAMANAGER_SERIES_STEP_VIEW_H_

// A scalar series ordered by step, after applying an overlap policy. It is made on demand and kept
// for the next time; growth is merged in, at a cost that depends only on the overlapping steps. A
// series whose steps only ever increased, and of which nothing was purged, is not copied at all.
//
// Not thread safe.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/scalar_columns.h"

namespace datamanager {

class StepView {
 public:
  StepView();
  ~StepView();
  StepView(StepView&&) noexcept;
  StepView& operator=(StepView&&) noexcept;

  // Returns the ordered series. `series` and `marks` must be those of the last call, perhaps grown;
  // otherwise call Drop() first. `marks` must be up to date (PurgeLog::CatchUp()). The result is
  // sorted(), and valid until the next call of a method, or until `series` changes.
  const ScalarColumns& Get(const ScalarColumns& series, const SeriesMarks& marks, Overlap policy);
  // Frees the memory.
  void Drop();
  // Allocated bytes, without the object itself.
  std::size_t Bytes() const;

 private:
  // The policy, and the points that it leaves.
  struct Kept;
  // A policy is usually requested repeatedly, so the view of the last one is kept.
  std::unique_ptr<Kept> kept_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_SERIES_STEP_VIEW_H_
