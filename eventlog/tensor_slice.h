#ifndef EVENTLOG_TENSOR_SLICE_H_
#define EVENTLOG_TENSOR_SLICE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "eventlog/tensor_view.h"

namespace eventlog {

// A part of a tensor, as MindInsight's `dims` and as NumPy would cut it: "[0, :, 1:5]". Pure; any
// thread.
//
// An item a dimension, with commas between and perhaps brackets around: an index, which takes its
// dimension away; `:`, `FIRST:`, `:END`, `FIRST:END`, `FIRST:END:STEP`; and once `...` for as many
// whole dimensions as are left. Negative numbers count from the end. Dimensions that are not named
// are whole. A range that goes beyond the dimension is cut off there; an index beyond it is an
// error. Steps are positive.
struct TensorSlice {
  struct Range {
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::int64_t step = 1;
  };
  std::vector<Range> ranges;        // A dimension of the tensor each.
  std::vector<std::int64_t> shape;  // Shape of the part that is cut out.
  std::uint64_t size = 0;           // The product of that.
};

inline constexpr std::size_t kMaxSliceBytes = 4096;

// The slice of a tensor of that shape; of an empty text everything. InvalidArgument names the item.
absl::StatusOr<TensorSlice> ParseTensorSlice(std::string_view text,
                                             const std::vector<std::int64_t>& shape);

// The elements that the slice cuts out of a tensor of that shape, which is the one it was parsed
// for, in row-major order, up to `limit`.
std::vector<std::uint64_t> ElementsOf(const TensorSlice& slice,
                                      const std::vector<std::int64_t>& shape, std::uint64_t limit);

// Appends what the slice cuts out of the tensor it was parsed for, in row-major order, up to
// `limit` elements (of a complex number both parts). One pass over the tensor; takes 8 bytes an
// element more.
void AppendSlice(const TensorView& tensor, const TensorSlice& slice, std::uint64_t limit,
                 std::vector<double>* out);

}  // namespace eventlog

#endif  // EVENTLOG_TENSOR_SLICE_H_
