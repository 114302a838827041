#ifndef EVENTLOG_TENSOR_SLICE_H_
#define EVENTLOG_TENSOR_SLICE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "eventlog/tensor_view.h"

namespace eventlog {

// A part of a tensor, in the syntax of MindInsight's `dims` and of NumPy: "[0, :, 1:5]". Pure; any
// thread.
//
// The text has one item per dimension, separated by commas, with optional brackets around: an
// index, which removes its dimension; `:`, `FIRST:`, `:END`, `FIRST:END`, `FIRST:END:STEP`; and at
// most once `...`, which stands for all remaining dimensions. Negative numbers count from the end.
// Unnamed dimensions are included completely. A range beyond the dimension is cut; an index beyond
// it is an error. Steps are positive.
struct TensorSlice {
  struct Range {
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::int64_t step = 1;
  };
  std::vector<Range> ranges;        // One per dimension of the tensor.
  std::vector<std::int64_t> shape;  // Shape of the resulting part.
  std::uint64_t size = 0;           // The product of `shape`.
};

inline constexpr std::size_t kMaxSliceBytes = 4096;

// Parses the slice of a tensor of that shape; an empty text selects everything. InvalidArgument
// names the malformed item.
absl::StatusOr<TensorSlice> ParseTensorSlice(std::string_view text,
                                             const std::vector<std::int64_t>& shape);

// Returns the indices of the slice's elements in row-major order, up to `limit`. `shape` must be
// the one for which the slice was parsed.
std::vector<std::uint64_t> ElementsOf(const TensorSlice& slice,
                                      const std::vector<std::int64_t>& shape, std::uint64_t limit);

// Appends the slice's elements in row-major order, up to `limit` elements (both parts of a complex
// number). `tensor` must have the shape for which the slice was parsed. One pass over the tensor;
// uses 8 bytes of temporary memory per element.
void AppendSlice(const TensorView& tensor, const TensorSlice& slice, std::uint64_t limit,
                 std::vector<double>* out);

}  // namespace eventlog

#endif  // EVENTLOG_TENSOR_SLICE_H_
