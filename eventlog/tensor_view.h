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

// The elements of a tensor as an event file has them, read when somebody wants to see them. Opening
// one looks at every byte once and keeps nothing but views; asking for a part of it costs the part,
// or, where elements are varints, what stands before it as well.
//
// Does what tensor_util.make_ndarray (TensorBoard, TensorFlow) does, and differs in this: REF
// types, 4-bit and 8-bit floats and 2-bit and 4-bit integers are read; a list that is shorter than
// the shape goes on with its last element (as TensorFlow says, where TensorBoard accepts only one).
//
// Immutable; any thread, as long as the bytes live.
class TensorView {
 public:
  // More elements are no tensor of a summary but an attack: a shape of 20 bytes can claim 2^63.
  static constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 30;
  static constexpr int kMaxRank = 254;  // As TensorFlow.

  // A float tensor of shape [0]: what a value without any value stands for.
  TensorView();

  // From a tensorflow.TensorProto. InvalidArgument: it is none, its shape is unknown or too large,
  // it has more elements than the shape, bytes that are no whole number of elements, or elements
  // that are neither numbers nor strings (resources, variants).
  static absl::StatusOr<TensorView> OfTensorFlow(std::string_view bytes);
  // From a mindinsight.TensorProto (anf_ir.proto). MindSpore's summary writer puts every type into
  // `float_data`; the field that belongs to the type is looked at first.
  static absl::StatusOr<TensorView> OfMindSpore(std::string_view bytes);

  NumberType type() const { return type_; }
  // Empty for a single number.
  const std::vector<std::int64_t>& shape() const { return shape_; }
  // The product of the shape.
  std::uint64_t size() const { return size_; }
  bool IsText() const { return type_ == NumberType::kString; }

  // Appends up to `limit` elements from the `first` on, in row-major order, as doubles: for a
  // complex one its real part and then its imaginary part. Nothing for strings and from the end on.
  void AppendNumbers(std::uint64_t first, std::uint64_t limit, std::vector<double>* out) const;
  // Appends these elements, whose indices ascend, in one pass; up to the first that is not below
  // size().
  void AppendNumbersAt(std::span<const std::uint64_t> elements, std::vector<double>* out) const;
  // The same as AppendNumbers() as little-endian bytes of the type, exactly as they are:
  // BytesOfComponent() a component.
  void AppendBytes(std::uint64_t first, std::uint64_t limit, std::string* out) const;
  // The same as AppendNumbersAt(), in bytes.
  void AppendBytesAt(std::span<const std::uint64_t> elements, std::string* out) const;
  // Views into the bytes that the tensor was opened on. Nothing for numbers.
  void AppendStrings(std::uint64_t first, std::uint64_t limit,
                     std::vector<std::string_view>* out) const;

  // Statistics of real numbers. Numbers that are not finite are counted, and left out of the rest.
  struct Statistics {
    std::uint64_t finite = 0;
    std::uint64_t nan = 0;
    std::uint64_t positive_infinite = 0;
    std::uint64_t negative_infinite = 0;
    double min = 0;  // 0 if nothing is finite, as MindInsight has it; also the next two.
    double max = 0;
    double mean = 0;
  };
  // Nothing but zeros for strings and complex numbers. Costs as many steps as elements are stored.
  Statistics GetStatistics() const;

 private:
  // How a component is stored.
  enum class Encoding : std::uint8_t { kBytes, kVarint, kFixed32, kFixed64, kString };

  // Calls take(bits) for the stored components from the `first` on, until it returns false.
  template <typename Take>
  void ForEachStored(std::uint64_t first, Take take) const;
  // Calls take(bits) for each component of the elements asked for, repeated ones included.
  template <typename Take>
  void ForEach(std::uint64_t first, std::uint64_t limit, Take take) const;
  // Calls take(bits) for each component of these elements, which ascend.
  template <typename Take>
  void ForEachAt(std::span<const std::uint64_t> elements, Take take) const;
  void AppendBits(std::uint64_t bits, std::string* out) const;
  // Throws wire::Error. `field` is where the elements are, and `content` instead of it if not
  // empty.
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
  std::uint64_t stored_ = 0;  // Components that are there; the last element stands for the rest.
};

}  // namespace eventlog

#endif  // EVENTLOG_TENSOR_VIEW_H_
