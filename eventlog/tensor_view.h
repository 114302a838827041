#ifndef EVENTLOG_TENSOR_VIEW_H_
#define EVENTLOG_TENSOR_VIEW_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "eventlog/number_type.h"

namespace eventlog {

// The elements of a tensor in an event file, decoded on request. Opening a view validates every
// byte once and keeps only views; reading a part of the tensor costs only that part, or, if
// elements are varints, also what precedes it.
//
// Follows tensor_util.make_ndarray (TensorBoard, TensorFlow), with these differences: REF types,
// 4-bit and 8-bit floats, and 2-bit and 4-bit integers are supported; a list shorter than the shape
// is extended by its last element (as TensorFlow specifies, while TensorBoard accepts only a single
// element).
//
// Immutable; any thread, as long as the bytes exist.
class TensorView {
 public:
  // More elements mean an attack rather than a summary's tensor: a shape of 20 bytes can claim
  // 2^63.
  static constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 30;
  static constexpr int kMaxRank = 254;  // As in TensorFlow.

  // A float tensor of shape [0], which represents a value without content.
  TensorView();

  // Opens a tensorflow.TensorProto. InvalidArgument: it is malformed, its shape is unknown or too
  // large, it has more elements than the shape, its bytes are not a whole number of elements, or
  // its elements are neither numbers nor strings (resources, variants).
  static absl::StatusOr<TensorView> OfTensorFlow(std::string_view bytes);
  // Opens a mindinsight.TensorProto (anf_ir.proto). MindSpore's summary writer puts every type into
  // `float_data`; the field that matches the type is tried first.
  static absl::StatusOr<TensorView> OfMindSpore(std::string_view bytes);

  NumberType type() const { return type_; }
  // Empty for a single number.
  const std::vector<std::int64_t>& shape() const { return shape_; }
  // The product of the shape.
  std::uint64_t size() const { return size_; }
  bool IsText() const { return type_ == NumberType::kString; }

  // Appends up to `limit` elements from `first` on, in row-major order, as doubles: for a complex
  // element its real part, then its imaginary part. Appends nothing for strings or after the end.
  void AppendNumbers(std::uint64_t first, std::uint64_t limit, std::vector<double>* out) const;
  // Appends these elements, whose indices must ascend, in one pass; stops at the first index that
  // is not below size().
  void AppendNumbersAt(std::span<const std::uint64_t> elements, std::vector<double>* out) const;
  // The same as AppendNumbers(), but exactly, as little-endian bytes of the type:
  // BytesOfComponent() bytes per component.
  void AppendBytes(std::uint64_t first, std::uint64_t limit, std::string* out) const;
  // The same as AppendNumbersAt(), as bytes.
  void AppendBytesAt(std::span<const std::uint64_t> elements, std::string* out) const;
  // Appends views into the bytes of the tensor. Appends nothing for numbers.
  void AppendStrings(std::uint64_t first, std::uint64_t limit,
                     std::vector<std::string_view>* out) const;

  // Statistics of real numbers. Numbers that are not finite are only counted.
  struct Statistics {
    std::uint64_t finite = 0;
    std::uint64_t nan = 0;
    std::uint64_t positive_infinite = 0;
    std::uint64_t negative_infinite = 0;
    double min = 0;  // 0 if no number is finite, as in MindInsight; also the next two.
    double max = 0;
    double mean = 0;
  };
  // Returns zeros for strings and complex numbers. Takes time linear in the stored elements.
  Statistics GetStatistics() const;

 private:
  // How a component is stored.
  enum class Encoding : std::uint8_t { kBytes, kVarint, kFixed32, kFixed64, kString };

  // Calls take(bits) for the stored components from `first` on, until it returns false.
  template <typename Take>
  void ForEachStored(std::uint64_t first, Take take) const;
  // Calls take(bits) for each component of the requested elements, including repeated ones.
  template <typename Take>
  void ForEach(std::uint64_t first, std::uint64_t limit, Take take) const;
  // Calls take(bits) for each component of these elements, whose indices must ascend.
  template <typename Take>
  void ForEachAt(std::span<const std::uint64_t> elements, Take take) const;
  void AppendBits(std::uint64_t bits, std::string* out) const;
  // Throws wire::Error. The elements are in `content`, or in field `field` if that is empty.
  void SetElements(std::string_view content, std::uint32_t field, Encoding encoding);
  void SetSize();
  void CheckAndCount();

  NumberType type_ = NumberType::kFloat32;
  Encoding encoding_ = Encoding::kBytes;
  std::vector<std::int64_t> shape_ = {0};
  std::uint64_t size_ = 0;
  // kBytes: the elements. Otherwise the whole message, whose repeated field `field_` has them.
  std::string_view bytes_;
  std::uint32_t field_ = 0;
  std::uint64_t stored_ = 0;  // Number of stored components; the last element stands for the rest.
};

}  // namespace eventlog

#endif  // EVENTLOG_TENSOR_VIEW_H_
