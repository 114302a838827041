// Feeds arbitrary text as a slice of a tensor whose shape comes from the first three bytes: it is
// refused, or the result has the size of its shape and the tensor's values.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "eventlog/tensor_slice.h"
#include "eventlog/tensor_view.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace {

using eventlog::testing::Bytes;
using eventlog::testing::Number;

void Must(bool condition) {
  if (!condition) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  std::string dims;
  std::vector<std::int64_t> shape;
  std::uint64_t elements = 1;
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t dimension = data[i] % 8;
    shape.push_back(static_cast<std::int64_t>(dimension));
    dims += Bytes(2, Number(1, dimension));
    elements *= dimension;
  }
  std::string list;
  for (std::uint64_t i = 0; i < elements; ++i) list += eventlog::testing::Varint(i);
  const std::string bytes = Number(1, 3) + Bytes(2, dims) + Bytes(7, list);
  const auto tensor = eventlog::TensorView::OfTensorFlow(bytes);
  Must(tensor.ok());
  const std::string_view text(reinterpret_cast<const char*>(data) + 3, size - 3);
  const auto slice = eventlog::ParseTensorSlice(text, shape);
  if (!slice.ok()) return 0;
  std::uint64_t expected = 1;
  for (const std::int64_t dimension : slice->shape) {
    Must(dimension >= 0);
    expected *= static_cast<std::uint64_t>(dimension);
  }
  Must(expected == slice->size && expected <= elements);
  std::vector<double> numbers;
  eventlog::AppendSlice(*tensor, *slice, 1000, &numbers);
  Must(numbers.size() == expected);
  Must(std::is_sorted(numbers.begin(), numbers.end()));
  return 0;
}
