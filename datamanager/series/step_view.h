#ifndef DATAMANAGER_SERIES_STEP_VIEW_H_
#define DATAMANAGER_SERIES_STEP_VIEW_H_

// A scalar series in the order of steps, as an overlap policy leaves it. It is made when it is
// asked for and kept for the next time; what has grown since is merged in, which costs no more than
// the steps that overlap. A series whose steps only ever rose, and of which nothing was purged, is
// not copied at all.
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

  // `series` and `marks` are those of the last call, or what has grown out of them; otherwise call
  // Drop() before. `marks` has caught up. The answer is sorted(), and valid until the next call of
  // a method, or until `series` changes.
  const ScalarColumns& Get(const ScalarColumns& series, const SeriesMarks& marks, Overlap policy);
  // Gives the memory back.
  void Drop();
  // Bytes allocated, without the object itself.
  std::size_t Bytes() const;

 private:
  struct Kept;
  // A policy that was asked for is mostly asked for again, so the view of the last one is kept.
  std::unique_ptr<Kept> kept_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_SERIES_STEP_VIEW_H_
