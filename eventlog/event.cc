#include "eventlog/event.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <exception>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eventlog/record.h"
#include "protozero/pbf_builder.hpp"
#include "protozero/pbf_message.hpp"
#include "protozero/varint.hpp"
#include "runtime/string_view.h"

namespace eventlog {
namespace {

using WireType = protozero::pbf_wire_type;

// Field numbers of tensorflow.Event and what it holds.
enum class EventField : protozero::pbf_tag_type {
  kWallTime = 1,
  kStep = 2,
  kFileVersion = 3,
  kGraph = 4,
  kSummary = 5,
  kLogMessage = 6,
  kSessionLog = 7,
  kRunMetadata = 8,
  kMetaGraph = 9,
  kSourceMetadata = 10,
};
enum class SourceField : protozero::pbf_tag_type { kWriter = 1 };
enum class SessionField : protozero::pbf_tag_type { kStatus = 1 };
enum class SummaryField : protozero::pbf_tag_type { kValue = 1 };
enum class ValueField : protozero::pbf_tag_type {
  kTag = 1,
  kSimpleValue = 2,
  kImage = 4,
  kHistogram = 5,
  kAudio = 6,
  kTensor = 8,
  kMetadata = 9,
};
enum class MetadataField : protozero::pbf_tag_type { kPluginData = 1, kDataClass = 4 };
enum class PluginField : protozero::pbf_tag_type { kPluginName = 1 };
enum class TensorField : protozero::pbf_tag_type {
  kNone = 0,
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
enum DataType : std::int32_t {
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

// So many values in one event are no summary any more, but an attack on memory: an empty one has
// 2 bytes in the file and fifty times that here.
constexpr std::size_t kMaxValues = 1'000'000;

struct TooManyValues : std::exception {
  const char* what() const noexcept override { return "over 1,000,000 values"; }
};

// A known field with another wire type than its own.
struct WireTypeError : std::exception {
  const char* what() const noexcept override { return "a field has the wrong wire type"; }
};

// The reader only asserts the wire type, and hostile bytes must not end the process: every field
// is taken through these.
template <typename Message>
void Require(const Message& message, WireType type) {
  if (message.wire_type() != type) [[unlikely]] {
    throw WireTypeError();
  }
}
template <typename Message>
std::string_view TakeBytes(Message& message) {
  Require(message, WireType::length_delimited);
  const protozero::data_view view = message.get_view();
  return {view.data(), view.size()};
}
template <typename Message>
std::int32_t TakeEnum(Message& message) {
  Require(message, WireType::varint);
  return message.get_enum();
}
template <typename Field>
protozero::pbf_message<Field> Open(std::string_view bytes) {
  return protozero::pbf_message<Field>(bytes.data(), bytes.size());
}

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

// Where a tensor of a real number type has its elements.
struct Elements {
  TensorField field = TensorField::kNone;  // Unless they are in `tensor_content`,
  std::size_t bytes = 0;                   // with this size each.
};

Elements ElementsOf(std::int32_t dtype) {
  switch (dtype) {
    case kFloat:
      return {TensorField::kFloat, 4};
    case kDouble:
      return {TensorField::kDouble, 8};
    case kInt32:
      return {TensorField::kInt, 4};
    case kInt16:
    case kUint16:
      return {TensorField::kInt, 2};
    case kInt8:
    case kUint8:
      return {TensorField::kInt, 1};
    case kInt64:
      return {TensorField::kInt64, 8};
    case kBool:
      return {TensorField::kBool, 1};
    case kHalf:
    case kBfloat16:
      return {TensorField::kHalf, 2};
    case kUint32:
      return {TensorField::kUint32, 4};
    case kUint64:
      return {TensorField::kUint64, 8};
    default:
      return {};
  }
}

// The number whose representation is in the low bits.
double FromBits(std::int32_t dtype, std::uint64_t bits) {
  switch (dtype) {
    case kFloat:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case kDouble:
      return std::bit_cast<double>(bits);
    case kInt32:
      return static_cast<std::int32_t>(bits);
    case kInt16:
      return static_cast<std::int16_t>(bits);
    case kInt8:
      return static_cast<std::int8_t>(bits);
    case kInt64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    case kUint8:
      return static_cast<std::uint8_t>(bits);
    case kUint16:
      return static_cast<std::uint16_t>(bits);
    case kUint32:
      return static_cast<std::uint32_t>(bits);
    case kBool:
      return bits != 0 ? 1 : 0;
    case kHalf:
      return FromHalf(static_cast<std::uint16_t>(bits));
    case kBfloat16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    default:
      return static_cast<double>(bits);
  }
}

std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return value;
}

bool HasRank0(std::string_view bytes) {
  auto shape = Open<ShapeField>(bytes);
  while (shape.next()) {
    if (shape.tag() == ShapeField::kDim || shape.tag() == ShapeField::kUnknownRank) return false;
    shape.skip();
  }
  return true;
}

// The first element of a packed field, as bits.
std::optional<std::uint64_t> FirstPacked(TensorField field, std::string_view packed) {
  if (packed.empty()) return std::nullopt;
  if (field == TensorField::kFloat || field == TensorField::kDouble) {
    const std::size_t width = field == TensorField::kFloat ? 4 : 8;
    if (packed.size() % width != 0) throw protozero::invalid_length_exception();
    return LittleEndian(packed.substr(0, width));
  }
  const char* at = packed.data();
  return protozero::decode_varint(&at, at + packed.size());
}

// The first element of a repeated field of numbers, packed or not, as bits.
std::optional<std::uint64_t> FirstElement(TensorField field, std::string_view bytes) {
  auto tensor = Open<TensorField>(bytes);
  while (tensor.next(field)) {
    if (tensor.wire_type() == WireType::length_delimited) {
      if (const auto first = FirstPacked(field, TakeBytes(tensor))) return first;
    } else if (field == TensorField::kFloat) {
      Require(tensor, WireType::fixed32);
      return tensor.get_fixed32();
    } else if (field == TensorField::kDouble) {
      Require(tensor, WireType::fixed64);
      return tensor.get_fixed64();
    } else {
      Require(tensor, WireType::varint);
      return tensor.get_uint64();
    }
  }
  return std::nullopt;
}

// The value of a rank-0 tensor of a real number type.
std::optional<double> DecodeTensor(std::string_view bytes) {
  auto tensor = Open<TensorField>(bytes);
  std::int32_t dtype = 0;
  std::string_view content;
  bool rank_0 = true;
  while (tensor.next()) {
    switch (tensor.tag()) {
      case TensorField::kDtype:
        dtype = TakeEnum(tensor);
        break;
      case TensorField::kShape:
        rank_0 = HasRank0(TakeBytes(tensor)) && rank_0;
        break;
      case TensorField::kContent:
        content = TakeBytes(tensor);
        break;
      default:
        tensor.skip();
    }
  }
  const Elements elements = ElementsOf(dtype);
  if (!rank_0 || elements.field == TensorField::kNone) return std::nullopt;
  std::optional<std::uint64_t> bits;
  if (content.empty()) {
    bits = FirstElement(elements.field, bytes);
  } else if (content.size() == elements.bytes) {
    bits = LittleEndian(content);
  }
  return bits.has_value() ? std::optional(FromBits(dtype, *bits)) : std::nullopt;
}

void DecodeMetadata(std::string_view bytes, SummaryValue* value) {
  value->metadata = bytes;
  auto metadata = Open<MetadataField>(bytes);
  while (metadata.next()) {
    switch (metadata.tag()) {
      case MetadataField::kPluginData: {
        auto plugin = Open<PluginField>(TakeBytes(metadata));
        while (plugin.next(PluginField::kPluginName)) value->plugin = TakeBytes(plugin);
        break;
      }
      case MetadataField::kDataClass:
        value->data_class = static_cast<DataClass>(TakeEnum(metadata));
        break;
      default:
        metadata.skip();
    }
  }
}

void SetMessage(ValueKind kind, std::string_view bytes, SummaryValue* value) {
  value->kind = kind;
  value->bytes = bytes;
  value->scalar = kind == ValueKind::kTensor ? DecodeTensor(bytes) : std::nullopt;
}

void DecodeValue(std::string_view bytes, SummaryValue* result) {
  auto value = Open<ValueField>(bytes);
  while (value.next()) {
    switch (value.tag()) {
      case ValueField::kTag:
        result->tag = TakeBytes(value);
        break;
      case ValueField::kSimpleValue:
        Require(value, WireType::fixed32);
        SetMessage(ValueKind::kSimpleValue, {}, result);
        result->scalar = value.get_float();
        break;
      case ValueField::kImage:
        SetMessage(ValueKind::kImage, TakeBytes(value), result);
        break;
      case ValueField::kHistogram:
        SetMessage(ValueKind::kHistogram, TakeBytes(value), result);
        break;
      case ValueField::kAudio:
        SetMessage(ValueKind::kAudio, TakeBytes(value), result);
        break;
      case ValueField::kTensor:
        SetMessage(ValueKind::kTensor, TakeBytes(value), result);
        break;
      case ValueField::kMetadata:
        DecodeMetadata(TakeBytes(value), result);
        break;
      default:
        value.skip();
    }
  }
}

// An event is about one thing: what came before is forgotten.
void SetKind(EventKind kind, std::string_view bytes, Event* event) {
  if (kind != event->kind) event->values.clear();
  event->file_version = {};
  event->session_status = SessionStatus::kUnspecified;
  event->kind = kind;
  event->bytes = bytes;
}

void DecodeSummary(std::string_view bytes, Event* event) {
  SetKind(EventKind::kSummary, {}, event);
  auto summary = Open<SummaryField>(bytes);
  while (summary.next(SummaryField::kValue)) {
    // Copied, because making an empty one in place costs a string instruction: a quarter of the
    // time.
    static constexpr SummaryValue kEmpty;
    if (event->values.size() >= kMaxValues) throw TooManyValues();
    event->values.push_back(kEmpty);
    DecodeValue(TakeBytes(summary), &event->values.back());
  }
}

void DecodeSessionLog(std::string_view bytes, Event* event) {
  SetKind(EventKind::kSessionLog, bytes, event);
  auto log = Open<SessionField>(bytes);
  while (log.next(SessionField::kStatus)) {
    event->session_status = static_cast<SessionStatus>(TakeEnum(log));
  }
}

void DecodeInto(std::string_view payload, Event* event) {
  auto message = Open<EventField>(payload);
  while (message.next()) {
    switch (message.tag()) {
      case EventField::kWallTime:
        Require(message, WireType::fixed64);
        event->wall_time = message.get_double();
        break;
      case EventField::kStep:
        Require(message, WireType::varint);
        event->step = message.get_int64();
        break;
      case EventField::kFileVersion: {
        const std::string_view version = TakeBytes(message);
        SetKind(EventKind::kFileVersion, {}, event);
        event->file_version = version;
        break;
      }
      case EventField::kSummary:
        DecodeSummary(TakeBytes(message), event);
        break;
      case EventField::kSessionLog:
        DecodeSessionLog(TakeBytes(message), event);
        break;
      case EventField::kGraph:
        SetKind(EventKind::kGraph, TakeBytes(message), event);
        break;
      case EventField::kMetaGraph:
        SetKind(EventKind::kMetaGraph, TakeBytes(message), event);
        break;
      case EventField::kRunMetadata:
        SetKind(EventKind::kRunMetadata, TakeBytes(message), event);
        break;
      case EventField::kLogMessage:
        SetKind(EventKind::kLogMessage, TakeBytes(message), event);
        break;
      case EventField::kSourceMetadata: {
        auto source = Open<SourceField>(TakeBytes(message));
        while (source.next(SourceField::kWriter)) event->writer = TakeBytes(source);
        break;
      }
      default:
        message.skip();
    }
  }
}

void Clear(Event* event) {
  event->wall_time = 0;
  event->step = 0;
  event->writer = {};
  event->values.clear();
  SetKind(EventKind::kNone, {}, event);
}

std::string Frame(const std::string& payload) {
  std::string record;
  AppendRecord(payload, &record);
  return record;
}

}  // namespace

absl::Status DecodeEvent(std::string_view payload, Event* event) {
  Clear(event);
  try {
    DecodeInto(payload, event);
  } catch (const protozero::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("not an event: ", error.what()));
  } catch (const WireTypeError& error) {
    return absl::InvalidArgumentError(absl::StrCat("not an event: ", error.what()));
  } catch (const TooManyValues& error) {
    // What is kept for the next event is of its size.
    std::vector<SummaryValue>().swap(event->values);
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
