#include "eventlog/tensor_view.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "absl/status/status.h"
#include "eventlog/wire.h"
#include "protozero/types.hpp"
#include "protozero/varint.hpp"

// Always true of an opened view: size_ is the product of shape_ and at most kMaxElements; stored_
// is a multiple of the components of an element, at most what the shape needs, and 0 only if size_
// is 0; every byte that ForEachStored() reads was validated when the view was opened, so reading
// cannot fail later.

namespace eventlog {
namespace {

using wire::Error;

// Fields of tensorflow.TensorProto other than the lists of elements.
enum TensorFlowField : std::uint32_t {
  kDtype = 1,
  kShape = 2,
  kContent = 4,
  kInt = 7,
  kFloat8 = 18
};
// Fields of anf_ir.proto's TensorProto.
enum MindSporeField : std::uint32_t {
  kMsDims = 1,
  kMsType = 2,
  kMsFloat = 3,
  kMsInt32 = 4,
  kMsInt64 = 5,
  kMsDouble = 6,
  kMsUint64 = 7,
  kMsRaw = 8,
};
enum class ShapeField : std::uint32_t { kDim = 2, kUnknownRank = 3 };
enum class DimField : std::uint32_t { kSize = 1 };

std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return value;
}

void AddDimension(std::int64_t dimension, std::vector<std::int64_t>* shape) {
  if (shape->size() >= TensorView::kMaxRank) throw Error("over 254 dimensions");
  shape->push_back(dimension);
}

std::vector<std::int64_t> ShapeOf(std::string_view bytes) {
  std::vector<std::int64_t> result;
  auto shape = wire::Open<ShapeField>(bytes);
  while (shape.next()) {
    if (shape.tag() == ShapeField::kUnknownRank) {
      if (wire::TakeInt64(shape) != 0) throw Error("its shape is unknown");
    } else if (shape.tag() == ShapeField::kDim) {
      std::int64_t size = 0;
      auto dimension = wire::Open<DimField>(wire::TakeBytes(shape));
      while (dimension.next(DimField::kSize)) size = wire::TakeInt64(dimension);
      AddDimension(size, &result);
    } else {
      shape.skip();
    }
  }
  return result;
}

// Calls take(bits) for each number of a packed field until it returns false; returns false if it
// did.
template <typename Take>
bool ForEachPacked(std::string_view packed, std::size_t width, Take& take) {
  if (width == 0) {
    for (const char *at = packed.data(), *end = at + packed.size(); at != end;) {
      if (!take(protozero::decode_varint(&at, end))) return false;
    }
    return true;
  }
  if (packed.size() % width != 0) throw Error("packed numbers that are cut off");
  for (std::size_t i = 0; i < packed.size(); i += width) {
    if (!take(LittleEndian(packed.substr(i, width)))) return false;
  }
  return true;
}

}  // namespace

TensorView::TensorView() = default;

template <typename Take>
void TensorView::ForEachStored(std::uint64_t first, Take take) const {
  if (encoding_ == Encoding::kBytes) {
    const std::size_t width = BytesOfComponent(type_);
    for (std::uint64_t i = first; i < stored_; ++i) {
      if (!take(LittleEndian(bytes_.substr(i * width, width)))) return;
    }
    return;
  }
  const auto take_after = [&](std::uint64_t bits) {
    if (first == 0) return static_cast<bool>(take(bits));
    --first;
    return true;
  };
  auto tensor = wire::OpenNumbers(bytes_);
  while (tensor.next(field_)) {
    const bool packed = tensor.wire_type() == wire::Type::length_delimited;
    bool more = true;
    if (encoding_ == Encoding::kFixed32) {
      if (packed) {
        more = ForEachPacked(wire::TakeBytes(tensor), 4, take_after);
      } else {
        wire::Require(tensor, wire::Type::fixed32);
        more = take_after(tensor.get_fixed32());
      }
    } else if (encoding_ == Encoding::kFixed64) {
      if (packed) {
        more = ForEachPacked(wire::TakeBytes(tensor), 8, take_after);
      } else {
        wire::Require(tensor, wire::Type::fixed64);
        more = take_after(tensor.get_fixed64());
      }
    } else if (packed) {
      more = ForEachPacked(wire::TakeBytes(tensor), 0, take_after);
    } else {
      more = take_after(static_cast<std::uint64_t>(wire::TakeInt64(tensor)));
    }
    if (!more) return;
  }
}

template <typename Take>
void TensorView::ForEach(std::uint64_t first, std::uint64_t limit, Take take) const {
  if (IsText() || first >= size_) return;
  const auto components = static_cast<std::uint64_t>(ComponentsOf(type_));
  std::uint64_t left = std::min(limit, size_ - first) * components;
  if (left == 0) return;
  // The last stored element, which represents the elements that are not stored.
  std::uint64_t last[2] = {};
  const std::uint64_t last_at = stored_ - components;
  std::uint64_t at = std::min(first * components, last_at);
  const std::uint64_t skip = at == first * components ? 0 : components;
  std::uint64_t skipped = 0;
  ForEachStored(at, [&](std::uint64_t bits) {
    if (at >= last_at) last[at - last_at] = bits;
    ++at;
    if (skipped < skip) {
      ++skipped;
    } else {
      take(bits);
      --left;
    }
    return left != 0;
  });
  for (std::uint64_t i = 0; left != 0; --left, ++i) take(last[i % components]);
}

absl::StatusOr<TensorView> TensorView::OfTensorFlow(std::string_view bytes) {
  TensorView view;
  const absl::Status status = wire::Guarded("a tensor", [&] {
    std::int32_t dtype = 0;
    std::string_view content;
    view.shape_.clear();
    auto tensor = wire::OpenNumbers(bytes);
    while (tensor.next()) {
      if (tensor.tag() == kDtype) {
        dtype = wire::TakeEnum(tensor);
      } else if (tensor.tag() == kShape) {
        view.shape_ = ShapeOf(wire::TakeBytes(tensor));
      } else if (tensor.tag() == kContent) {
        content = wire::TakeBytes(tensor);
      } else {
        tensor.skip();
      }
    }
    view.type_ = NumberTypeOfTensorFlow(dtype);
    view.SetSize();
    view.bytes_ = bytes;
    const std::uint32_t field = TensorFlowListField(view.type_);
    switch (view.type_) {
      case NumberType::kUnknown:
        throw Error("its elements are neither numbers nor strings");
      case NumberType::kString:
        return view.SetElements({}, field, Encoding::kString);
      case NumberType::kFloat32:
      case NumberType::kComplex64:
        return view.SetElements(content, field, Encoding::kFixed32);
      case NumberType::kFloat64:
      case NumberType::kComplex128:
        return view.SetElements(content, field, Encoding::kFixed64);
      default:
        break;
    }
    if (field != kFloat8) return view.SetElements(content, field, Encoding::kVarint);
    // The field is bytes, so the last one wins. If it is absent, uses a list of integers, as
    // TensorFlow does.
    std::string_view small = content;
    tensor = wire::OpenNumbers(bytes);
    while (content.empty() && tensor.next(kFloat8)) small = wire::TakeBytes(tensor);
    view.SetElements(small, kInt, Encoding::kVarint);
  });
  if (!status.ok()) return status;
  return view;
}

absl::StatusOr<TensorView> TensorView::OfMindSpore(std::string_view bytes) {
  TensorView view;
  const absl::Status status = wire::Guarded("a tensor", [&] {
    std::int32_t type = 0;
    std::string_view raw;
    bool has[kMsRaw + 1] = {};
    view.shape_.clear();
    auto tensor = wire::OpenNumbers(bytes);
    while (tensor.next()) {
      if (tensor.tag() <= kMsRaw) has[tensor.tag()] = true;
      if (tensor.tag() == kMsDims && tensor.wire_type() == wire::Type::length_delimited) {
        auto take = [&](std::uint64_t bits) {
          AddDimension(static_cast<std::int64_t>(bits), &view.shape_);
          return true;
        };
        ForEachPacked(wire::TakeBytes(tensor), 0, take);
      } else if (tensor.tag() == kMsDims) {
        AddDimension(wire::TakeInt64(tensor), &view.shape_);
      } else if (tensor.tag() == kMsType) {
        type = wire::TakeEnum(tensor);
      } else if (tensor.tag() == kMsRaw) {
        raw = wire::TakeBytes(tensor);
      } else {
        tensor.skip();
      }
    }
    view.bytes_ = bytes;
    view.SetSize();
    view.type_ = NumberTypeOfMindSpore(type);
    if (view.IsText()) throw Error("strings are no tensor of MindSpore");
    if (!raw.empty()) return view.SetElements(raw, 0, Encoding::kBytes);
    switch (view.type_) {
      case NumberType::kInt64:
        if (has[kMsInt64]) return view.SetElements({}, kMsInt64, Encoding::kVarint);
        break;
      case NumberType::kUint32:
      case NumberType::kUint64:
        if (has[kMsUint64]) return view.SetElements({}, kMsUint64, Encoding::kVarint);
        break;
      case NumberType::kFloat64:
        if (has[kMsDouble]) return view.SetElements({}, kMsDouble, Encoding::kFixed64);
        break;
      case NumberType::kBool:
      case NumberType::kInt8:
      case NumberType::kInt16:
      case NumberType::kInt32:
      case NumberType::kUint8:
      case NumberType::kUint16:
        if (has[kMsInt32]) return view.SetElements({}, kMsInt32, Encoding::kVarint);
        break;
      default:
        break;
    }
    // All elements are floats then, whatever type they had in the program.
    view.type_ = NumberType::kFloat32;
    view.SetElements({}, kMsFloat, Encoding::kFixed32);
  });
  if (!status.ok()) return status;
  return view;
}

void TensorView::SetSize() {
  size_ = 1;
  bool empty = false;
  for (const std::int64_t dimension : shape_) {
    if (dimension < 0) throw Error("its shape is unknown");
    if (dimension == 0) empty = true;
  }
  if (empty) {
    size_ = 0;
    return;
  }
  for (const std::int64_t dimension : shape_) {
    if (static_cast<std::uint64_t>(dimension) > kMaxElements / size_) {
      throw Error("over 2^30 elements");
    }
    size_ *= static_cast<std::uint64_t>(dimension);
  }
}

void TensorView::SetElements(std::string_view content, std::uint32_t field, Encoding encoding) {
  field_ = field;
  encoding_ = encoding;
  if (!content.empty() || encoding == Encoding::kBytes) {
    if (type_ == NumberType::kUnknown) throw Error("its elements are of an unknown type");
    encoding_ = Encoding::kBytes;
    bytes_ = content;
    const std::size_t width = BytesOfComponent(type_);
    if (bytes_.size() % width != 0) throw Error("a part of an element");
    stored_ = bytes_.size() / width;
    const std::uint64_t wanted = size_ * static_cast<std::uint64_t>(ComponentsOf(type_));
    if (stored_ != wanted) throw Error("its content has not the size of its shape");
    return;
  }
  CheckAndCount();
}

void TensorView::CheckAndCount() {
  stored_ = 0;
  std::uint64_t components = 1;
  if (encoding_ == Encoding::kString) {
    auto tensor = wire::OpenNumbers(bytes_);
    for (; tensor.next(field_); ++stored_) wire::TakeBytes(tensor);
  } else {
    ForEachStored(0, [this](std::uint64_t) {
      ++stored_;
      return true;
    });
    components = static_cast<std::uint64_t>(ComponentsOf(type_));
  }
  if (stored_ % components != 0) throw Error("half of a complex number");
  if (stored_ > size_ * components) throw Error("more elements than its shape has");
  if (stored_ == 0 && size_ != 0) throw Error("a shape without elements");
}

void TensorView::AppendNumbers(std::uint64_t first, std::uint64_t limit,
                               std::vector<double>* out) const {
  ForEach(first, limit, [&](std::uint64_t bits) { out->push_back(NumberOf(type_, bits)); });
}

template <typename Take>
void TensorView::ForEachAt(std::span<const std::uint64_t> elements, Take take) const {
  const auto components = static_cast<std::uint64_t>(ComponentsOf(type_));
  const std::size_t width = BytesOfComponent(type_);
  if (IsText() || elements.empty() || elements.front() >= size_) return;
  auto next = elements.begin();
  const auto more = [&] { return next != elements.end() && *next < size_; };
  if (encoding_ == Encoding::kBytes) {
    for (; more(); ++next) {
      for (std::uint64_t i = 0; i < components; ++i) {
        take(LittleEndian(bytes_.substr((*next * components + i) * width, width)));
      }
    }
    return;
  }
  std::uint64_t last[2] = {};
  const auto take_last = [&] {
    for (std::uint64_t i = 0; i < components; ++i) take(last[i]);
    ++next;
  };
  std::uint64_t at = 0;
  ForEachStored(0, [&](std::uint64_t bits) {
    last[at % components] = bits;
    const std::uint64_t element = at / components;
    if (++at % components == 0) {
      while (more() && *next == element) take_last();
    }
    return more();
  });
  // Elements that are not stored repeat the last stored one.
  while (more()) take_last();
}

void TensorView::AppendBits(std::uint64_t bits, std::string* out) const {
  // A bool is stored as a varint, which may have any value.
  if (type_ == NumberType::kBool) bits = bits != 0 ? 1 : 0;
  for (std::size_t i = 0; i < BytesOfComponent(type_); ++i) {
    out->push_back(static_cast<char>(bits >> (8 * i)));
  }
}

void TensorView::AppendNumbersAt(std::span<const std::uint64_t> elements,
                                 std::vector<double>* out) const {
  ForEachAt(elements, [&](std::uint64_t bits) { out->push_back(NumberOf(type_, bits)); });
}

void TensorView::AppendBytes(std::uint64_t first, std::uint64_t limit, std::string* out) const {
  ForEach(first, limit, [&](std::uint64_t bits) { AppendBits(bits, out); });
}

void TensorView::AppendBytesAt(std::span<const std::uint64_t> elements, std::string* out) const {
  ForEachAt(elements, [&](std::uint64_t bits) { AppendBits(bits, out); });
}

void TensorView::AppendStrings(std::uint64_t first, std::uint64_t limit,
                               std::vector<std::string_view>* out) const {
  if (!IsText() || first >= size_) return;
  std::uint64_t left = std::min(limit, size_ - first);
  std::string_view last;
  std::uint64_t at = 0;
  auto tensor = wire::OpenNumbers(bytes_);
  while (left != 0 && tensor.next(field_)) {
    last = wire::TakeBytes(tensor);
    if (at++ < first) continue;
    out->push_back(last);
    --left;
  }
  for (; left != 0; --left) out->push_back(last);
}

TensorView::Statistics TensorView::GetStatistics() const {
  Statistics result;
  if (IsText() || IsComplex(type_) || size_ == 0) return result;
  double sum = 0;
  const auto add = [&](double number, std::uint64_t times) {
    if (std::isnan(number)) {
      result.nan += times;
    } else if (std::isinf(number)) {
      (number > 0 ? result.positive_infinite : result.negative_infinite) += times;
    } else {
      result.min = result.finite == 0 ? number : std::min(result.min, number);
      result.max = result.finite == 0 ? number : std::max(result.max, number);
      result.finite += times;
      sum += number * static_cast<double>(times);
    }
  };
  double last = 0;
  ForEachStored(0, [&](std::uint64_t bits) {
    last = NumberOf(type_, bits);
    add(last, 1);
    return true;
  });
  if (size_ > stored_) add(last, size_ - stored_);
  if (result.finite != 0) result.mean = sum / static_cast<double>(result.finite);
  return result;
}

}  // namespace eventlog
