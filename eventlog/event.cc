#include "eventlog/event.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eventlog/record.h"

namespace eventlog {
// Thrown for a field with another wire type than its own.
struct WireTypeError : std::exception {
  const char* what() const noexcept override { return "a field has the wrong wire type"; }
};
}  // namespace eventlog
// The reader's own checks of wire types: hostile bytes must not end the process.
#define protozero_assert(condition) \
  ((condition) ? static_cast<void>(0) : throw ::eventlog::WireTypeError())

#include "protozero/pbf_builder.hpp"
#include "protozero/pbf_message.hpp"
#include "runtime/string_view.h"

namespace eventlog {
namespace {

// Field numbers of tensorflow.Event and what it holds.
enum class EventField : protozero::pbf_tag_type {
  kWallTime = 1,
  kStep = 2,
  kFileVersion = 3,
  kSummary = 5,
};
enum class SummaryField : protozero::pbf_tag_type { kValue = 1 };
enum class ValueField : protozero::pbf_tag_type {
  kTag = 1,
  kSimpleValue = 2,
  kTensor = 8,
  kMetadata = 9,
};
enum class MetadataField : protozero::pbf_tag_type { kPluginData = 1 };
enum class PluginField : protozero::pbf_tag_type { kPluginName = 1 };
enum class TensorField : protozero::pbf_tag_type {
  kDtype = 1,
  kShape = 2,
  kContent = 4,
  kFloat = 5,
  kDouble = 6,
  kInt = 7,
  kInt64 = 10,
  kBool = 11,
  kHalf = 13,
  kUint32 = 16,
  kUint64 = 17,
};
enum class ShapeField : protozero::pbf_tag_type { kDim = 2, kUnknownRank = 3 };
enum DataType {
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kInt64 = 9,
  kBool = 10,
  kBfloat16 = 14,
  kUint16 = 17,
  kHalf = 19,
  kUint32 = 22,
  kUint64 = 23
};

std::string_view View(const protozero::data_view& view) { return {view.data(), view.size()}; }

double FromHalf(std::uint16_t bits) {
  const int sign = (bits >> 15) != 0 ? -1 : 1;
  const int exponent = (bits >> 10) & 0x1F;
  const int fraction = bits & 0x3FF;
  if (exponent == 0x1F) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

double FromBfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

template <typename Number>
std::optional<double> Load(std::string_view content) {
  if (content.size() != sizeof(Number)) return std::nullopt;
  Number number;
  std::memcpy(&number, content.data(), sizeof number);
  return static_cast<double>(number);
}

// `tensor_content`, little endian like this machine.
std::optional<double> FromContent(int dtype, std::string_view content) {
  switch (dtype) {
    case kFloat:
      return Load<float>(content);
    case kDouble:
      return Load<double>(content);
    case kInt32:
      return Load<std::int32_t>(content);
    case kUint8:
      return Load<std::uint8_t>(content);
    case kInt16:
      return Load<std::int16_t>(content);
    case kInt8:
      return Load<std::int8_t>(content);
    case kInt64:
      return Load<std::int64_t>(content);
    case kBool:
      return Load<std::uint8_t>(content);
    case kUint16:
      return Load<std::uint16_t>(content);
    case kUint32:
      return Load<std::uint32_t>(content);
    case kUint64:
      return Load<std::uint64_t>(content);
    case kHalf:
    case kBfloat16: {
      if (content.size() != 2) return std::nullopt;
      std::uint16_t bits;
      std::memcpy(&bits, content.data(), 2);
      return dtype == kHalf ? FromHalf(bits) : FromBfloat16(bits);
    }
    default:
      return std::nullopt;
  }
}

// The one element of a repeated field, packed or not: the first of this occurrence.
template <typename Range>
void TakeFirst(const Range& range, std::optional<double>* value) {
  if (range.begin() != range.end() && !value->has_value()) {
    *value = static_cast<double>(*range.begin());
  }
}

bool IsPacked(const protozero::pbf_message<TensorField>& message) {
  return message.wire_type() == protozero::pbf_wire_type::length_delimited;
}

std::optional<double> HalfOf(int dtype, std::optional<double> raw) {
  if (!raw.has_value()) return raw;
  const auto bits = static_cast<std::uint16_t>(*raw);
  return dtype == kBfloat16 ? FromBfloat16(bits) : FromHalf(bits);
}

bool HasRank0(protozero::data_view view) {
  protozero::pbf_message<ShapeField> shape(view);
  while (shape.next()) {
    if (shape.tag() == ShapeField::kDim || shape.tag() == ShapeField::kUnknownRank) return false;
    shape.skip();
  }
  return true;
}

// The value of a rank-0 tensor of a real number type.
std::optional<double> DecodeTensor(protozero::data_view view) {
  protozero::pbf_message<TensorField> tensor(view);
  int dtype = 0;
  bool half = false;
  std::string_view content;
  std::optional<double> value;
  while (tensor.next()) {
    switch (tensor.tag()) {
      case TensorField::kDtype:
        dtype = tensor.get_enum();
        break;
      case TensorField::kShape:
        if (!HasRank0(tensor.get_view())) return std::nullopt;
        break;
      case TensorField::kContent:
        content = View(tensor.get_view());
        break;
      case TensorField::kFloat:
        if (IsPacked(tensor))
          TakeFirst(tensor.get_packed_float(), &value);
        else
          value = tensor.get_float();
        break;
      case TensorField::kDouble:
        if (IsPacked(tensor))
          TakeFirst(tensor.get_packed_double(), &value);
        else
          value = tensor.get_double();
        break;
      case TensorField::kInt:
        if (IsPacked(tensor))
          TakeFirst(tensor.get_packed_int32(), &value);
        else
          value = tensor.get_int32();
        break;
      case TensorField::kInt64:
        if (IsPacked(tensor))
          TakeFirst(tensor.get_packed_int64(), &value);
        else
          value = static_cast<double>(tensor.get_int64());
        break;
      case TensorField::kBool:
        if (IsPacked(tensor))
          TakeFirst(tensor.get_packed_bool(), &value);
        else
          value = tensor.get_bool();
        break;
      case TensorField::kHalf:
        half = true;
        if (IsPacked(tensor))
          TakeFirst(tensor.get_packed_int32(), &value);
        else
          value = tensor.get_int32();
        break;
      case TensorField::kUint32:
        if (IsPacked(tensor))
          TakeFirst(tensor.get_packed_uint32(), &value);
        else
          value = tensor.get_uint32();
        break;
      case TensorField::kUint64:
        if (IsPacked(tensor))
          TakeFirst(tensor.get_packed_uint64(), &value);
        else
          value = static_cast<double>(tensor.get_uint64());
        break;
      default:
        tensor.skip();
    }
  }
  if (half) return HalfOf(dtype, value);
  return content.empty() ? value : FromContent(dtype, content);
}

std::string_view DecodePlugin(protozero::data_view view) {
  protozero::pbf_message<MetadataField> metadata(view);
  while (metadata.next(MetadataField::kPluginData)) {
    protozero::pbf_message<PluginField> plugin(metadata.get_view());
    while (plugin.next(PluginField::kPluginName)) return View(plugin.get_view());
  }
  return {};
}

SummaryValue DecodeValue(protozero::data_view view) {
  SummaryValue result;
  protozero::pbf_message<ValueField> value(view);
  while (value.next()) {
    switch (value.tag()) {
      case ValueField::kTag:
        result.tag = View(value.get_view());
        break;
      case ValueField::kSimpleValue:
        result.scalar = value.get_float();
        result.simple = true;
        break;
      case ValueField::kTensor:
        result.scalar = DecodeTensor(value.get_view());
        break;
      case ValueField::kMetadata:
        result.plugin = DecodePlugin(value.get_view());
        break;
      default:
        value.skip();
    }
  }
  return result;
}

void DecodeInto(std::string_view payload, Event* event) {
  protozero::pbf_message<EventField> message(payload.data(), payload.size());
  while (message.next()) {
    switch (message.tag()) {
      case EventField::kWallTime:
        event->wall_time = message.get_double();
        break;
      case EventField::kStep:
        event->step = message.get_int64();
        break;
      case EventField::kFileVersion:
        event->file_version = View(message.get_view());
        break;
      case EventField::kSummary: {
        protozero::pbf_message<SummaryField> summary(message.get_view());
        while (summary.next(SummaryField::kValue)) {
          event->values.push_back(DecodeValue(summary.get_view()));
        }
        break;
      }
      default:
        message.skip();
    }
  }
}

std::string Frame(const std::string& payload) {
  std::string record;
  AppendRecord(payload, &record);
  return record;
}

}  // namespace

absl::Status DecodeEvent(std::string_view payload, Event* event) {
  event->wall_time = 0;
  event->step = 0;
  event->file_version = {};
  event->values.clear();
  try {
    DecodeInto(payload, event);
  } catch (const protozero::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("not an event: ", error.what()));
  } catch (const WireTypeError& error) {
    return absl::InvalidArgumentError(absl::StrCat("not an event: ", error.what()));
  }
  return absl::OkStatus();
}

std::string RenderFileHeader(double wall_time) {
  std::string payload;
  protozero::pbf_builder<EventField> event(payload);
  event.add_double(EventField::kWallTime, wall_time);
  event.add_string(EventField::kFileVersion, "brain.Event:2");
  return Frame(payload);
}

std::string RenderScalars(double wall_time, std::int64_t step, std::span<const Scalar> scalars) {
  std::string payload;
  protozero::pbf_builder<EventField> event(payload);
  event.add_double(EventField::kWallTime, wall_time);
  event.add_int64(EventField::kStep, step);
  {
    protozero::pbf_builder<SummaryField> summary(event, EventField::kSummary);
    for (const Scalar& scalar : scalars) {
      protozero::pbf_builder<ValueField> value(summary, SummaryField::kValue);
      value.add_string(ValueField::kTag, scalar.tag.data(), scalar.tag.size());
      value.add_float(ValueField::kSimpleValue, static_cast<float>(scalar.value));
    }
  }
  return Frame(payload);
}

std::string EventFileName(std::int64_t unix_seconds, std::string_view host, std::int64_t pid,
                          std::int64_t number) {
  return absl::StrFormat("events.out.tfevents.%010d.%s.%d.%d", unix_seconds, runtime::Absl(host),
                         pid, number);
}

}  // namespace eventlog
