#include "eventlog/event.h"

#include <cmath>
#include <cstddef>

#include "absl/strings/str_format.h"
#include "eventlog/number_type.h"
#include "eventlog/record.h"
#include "eventlog/wire.h"
#include "protozero/exception.hpp"
#include "protozero/pbf_builder.hpp"
#include "protozero/types.hpp"
#include "protozero/varint.hpp"
#include "runtime/text/string_view.h"

namespace eventlog {
namespace {

using WireType = wire::Type;

// Field numbers of tensorflow.Event and its submessages.
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
  kOldHistogram = 3,  // Used by the first versions only.
  kImage = 4,
  kHistogram = 5,
  kAudio = 6,
  kNodeName = 7,
  kTensor = 8,
  kMetadata = 9,
  kExactValue = 1000,  // Our own field: the double whose nearest float is `simple_value`.
};
enum class MetadataField : protozero::pbf_tag_type { kPluginData = 1, kDataClass = 4 };
enum class PluginField : protozero::pbf_tag_type { kPluginName = 1 };
// Fields of tensorflow.TensorProto; number_type.h has the fields that list elements.
enum TensorField : protozero::pbf_tag_type { kDtype = 1, kShape = 2, kContent = 4, kFloat8 = 18 };
enum class ShapeField : protozero::pbf_tag_type { kDim = 2, kUnknownRank = 3 };
enum class DimField : protozero::pbf_tag_type { kSize = 1 };

// More values in one event are an attack on memory rather than a summary: an empty value has 2
// bytes in the file and fifty times that in memory.
constexpr std::size_t kMaxValues = 1'000'000;

struct TooManyValues : wire::Error {
  TooManyValues() : Error("over 1,000,000 values") {}
};

std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return value;
}

// Kinds of shape: a single number; one element with a shape of its own; any other.
enum class Rank { kZero, kOneElement, kOther };

Rank RankOf(std::string_view bytes) {
  Rank rank = Rank::kZero;
  auto shape = wire::Open<ShapeField>(bytes);
  while (shape.next()) {
    if (shape.tag() == ShapeField::kDim) {
      std::int64_t size = 0;
      auto dimension = wire::Open<DimField>(wire::TakeBytes(shape));
      while (dimension.next(DimField::kSize)) size = wire::TakeInt64(dimension);
      if (rank == Rank::kZero) rank = Rank::kOneElement;
      if (size != 1) rank = Rank::kOther;
    } else if (shape.tag() == ShapeField::kUnknownRank) {
      rank = Rank::kOther;
      shape.skip();
    } else {
      shape.skip();
    }
  }
  return rank;
}

// Returns the first element of a packed field, as bits.
std::optional<std::uint64_t> FirstPacked(NumberType type, std::string_view packed) {
  if (packed.empty()) return std::nullopt;
  if (type == NumberType::kFloat32 || type == NumberType::kFloat64) {
    const std::size_t width = BytesOfComponent(type);
    if (packed.size() % width != 0) throw protozero::invalid_length_exception();
    return LittleEndian(packed.substr(0, width));
  }
  const char* at = packed.data();
  return protozero::decode_varint(&at, at + packed.size());
}

// Returns the first element of a repeated field of numbers, packed or not, as bits.
std::optional<std::uint64_t> FirstElement(NumberType type, std::string_view bytes) {
  const std::uint32_t field = TensorFlowListField(type);
  auto tensor = wire::OpenNumbers(bytes);
  while (tensor.next(field)) {
    if (tensor.wire_type() == WireType::length_delimited) {
      const std::string_view packed = wire::TakeBytes(tensor);
      if (field == kFloat8) {
        if (packed.size() == 1) return LittleEndian(packed);
      } else if (const auto first = FirstPacked(type, packed)) {
        return first;
      }
    } else if (type == NumberType::kFloat32) {
      wire::Require(tensor, WireType::fixed32);
      return tensor.get_fixed32();
    } else if (type == NumberType::kFloat64) {
      wire::Require(tensor, WireType::fixed64);
      return tensor.get_fixed64();
    } else {
      return static_cast<std::uint64_t>(wire::TakeInt64(tensor));
    }
  }
  return std::nullopt;
}

// Decodes a tensor with one element of a real number type.
void DecodeTensor(std::string_view bytes, SummaryValue* value) {
  auto tensor = wire::OpenNumbers(bytes);
  std::int32_t dtype = 0;
  std::string_view content;
  Rank rank = Rank::kZero;
  while (tensor.next()) {
    switch (tensor.tag()) {
      case kDtype:
        dtype = wire::TakeEnum(tensor);
        break;
      case kShape:
        rank = RankOf(wire::TakeBytes(tensor));
        break;
      case kContent:
        content = wire::TakeBytes(tensor);
        break;
      default:
        tensor.skip();
    }
  }
  const NumberType type = NumberTypeOfTensorFlow(dtype);
  if (rank == Rank::kOther || ComponentsOf(type) != 1) return;
  std::optional<std::uint64_t> bits;
  if (content.empty()) {
    bits = FirstElement(type, bytes);
  } else if (content.size() == BytesOfComponent(type)) {
    bits = LittleEndian(content);
  }
  if (!bits.has_value()) return;
  value->scalar = NumberOf(type, *bits);
  value->shaped = rank == Rank::kOneElement;
}

void DecodeMetadata(std::string_view bytes, SummaryValue* value) {
  value->metadata = bytes;
  auto metadata = wire::Open<MetadataField>(bytes);
  while (metadata.next()) {
    switch (metadata.tag()) {
      case MetadataField::kPluginData: {
        auto plugin = wire::Open<PluginField>(wire::TakeBytes(metadata));
        while (plugin.next(PluginField::kPluginName)) value->plugin = wire::TakeBytes(plugin);
        break;
      }
      case MetadataField::kDataClass:
        value->data_class = static_cast<DataClass>(wire::TakeEnum(metadata));
        break;
      default:
        metadata.skip();
    }
  }
}

void SetMessage(ValueKind kind, std::string_view bytes, SummaryValue* value) {
  value->kind = kind;
  value->bytes = bytes;
  value->scalar = std::nullopt;
  value->shaped = false;
  if (kind == ValueKind::kTensor) DecodeTensor(bytes, value);
}

void DecodeValue(std::string_view bytes, SummaryValue* result, std::uint32_t* unknown_fields) {
  std::string_view node_name;
  std::optional<double> exact;
  auto value = wire::Open<ValueField>(bytes);
  while (value.next()) {
    switch (value.tag()) {
      case ValueField::kTag:
        result->tag = wire::TakeBytes(value);
        break;
      case ValueField::kNodeName:
        node_name = wire::TakeBytes(value);
        break;
      case ValueField::kSimpleValue:
        wire::Require(value, WireType::fixed32);
        SetMessage(ValueKind::kSimpleValue, {}, result);
        result->scalar = value.get_float();
        break;
      case ValueField::kImage:
        SetMessage(ValueKind::kImage, wire::TakeBytes(value), result);
        break;
      case ValueField::kHistogram:
        SetMessage(ValueKind::kHistogram, wire::TakeBytes(value), result);
        break;
      case ValueField::kAudio:
        SetMessage(ValueKind::kAudio, wire::TakeBytes(value), result);
        break;
      case ValueField::kTensor:
        SetMessage(ValueKind::kTensor, wire::TakeBytes(value), result);
        break;
      case ValueField::kMetadata:
        DecodeMetadata(wire::TakeBytes(value), result);
        break;
      case ValueField::kOldHistogram:
        value.skip();
        break;
      case ValueField::kExactValue:
        if (value.wire_type() == WireType::fixed64) {
          exact = value.get_double();
          break;
        }
        [[fallthrough]];  // Field 1000 of another program.
      default:
        ++*unknown_fields;
        value.skip();
    }
  }
  if (exact && result->kind == ValueKind::kSimpleValue &&
      IsExactValueOf(static_cast<float>(*result->scalar), *exact)) {
    result->scalar = exact;
  }
  // Tensors from the time before tags existed.
  if (result->tag.empty() && result->kind == ValueKind::kTensor) result->tag = node_name;
}

// An event has one kind of content: earlier content is dropped.
void SetKind(EventKind kind, std::string_view bytes, Event* event) {
  if (kind != event->kind) event->values.clear();
  event->file_version = {};
  event->session_status = SessionStatus::kUnspecified;
  event->kind = kind;
  event->bytes = bytes;
}

void DecodeSummary(std::string_view bytes, Event* event) {
  SetKind(EventKind::kSummary, {}, event);
  auto summary = wire::Open<SummaryField>(bytes);
  while (summary.next(SummaryField::kValue)) {
    // Copied, because constructing an empty value in place compiles to a string instruction, which
    // takes a quarter of the time.
    static constexpr SummaryValue kEmpty;
    if (event->values.size() >= kMaxValues) throw TooManyValues();
    event->values.push_back(kEmpty);
    DecodeValue(wire::TakeBytes(summary), &event->values.back(), &event->unknown_fields);
  }
}

void DecodeSessionLog(std::string_view bytes, Event* event) {
  SetKind(EventKind::kSessionLog, bytes, event);
  auto log = wire::Open<SessionField>(bytes);
  while (log.next(SessionField::kStatus)) {
    event->session_status = static_cast<SessionStatus>(wire::TakeEnum(log));
  }
}

void DecodeInto(std::string_view payload, Event* event) {
  auto message = wire::Open<EventField>(payload);
  while (message.next()) {
    switch (message.tag()) {
      case EventField::kWallTime:
        wire::Require(message, WireType::fixed64);
        event->wall_time = message.get_double();
        break;
      case EventField::kStep:
        wire::Require(message, WireType::varint);
        event->step = message.get_int64();
        break;
      case EventField::kFileVersion: {
        const std::string_view version = wire::TakeBytes(message);
        SetKind(EventKind::kFileVersion, {}, event);
        event->file_version = version;
        break;
      }
      case EventField::kSummary:
        DecodeSummary(wire::TakeBytes(message), event);
        break;
      case EventField::kSessionLog:
        DecodeSessionLog(wire::TakeBytes(message), event);
        break;
      case EventField::kGraph:
        SetKind(EventKind::kGraph, wire::TakeBytes(message), event);
        break;
      case EventField::kMetaGraph:
        SetKind(EventKind::kMetaGraph, wire::TakeBytes(message), event);
        break;
      case EventField::kRunMetadata:
        SetKind(EventKind::kRunMetadata, wire::TakeBytes(message), event);
        break;
      case EventField::kLogMessage:
        SetKind(EventKind::kLogMessage, wire::TakeBytes(message), event);
        break;
      case EventField::kSourceMetadata: {
        auto source = wire::Open<SourceField>(wire::TakeBytes(message));
        while (source.next(SourceField::kWriter)) event->writer = wire::TakeBytes(source);
        break;
      }
      default:
        ++event->unknown_fields;
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
  event->Clear();
  return wire::Guarded("an event", [&] {
    try {
      DecodeInto(payload, event);
    } catch (const TooManyValues&) {
      // `event` is reused: the next event must not keep this much memory.
      std::vector<SummaryValue>().swap(event->values);
      throw;
    }
  });
}

std::string RenderFileHeader(double wall_time) {
  std::string payload;
  protozero::pbf_builder<EventField> event(payload);
  event.add_double(EventField::kWallTime, wall_time);
  event.add_string(EventField::kFileVersion, "brain.Event:2");
  return Frame(payload);
}

bool IsExactValueOf(float simple, double exact) {
  return static_cast<float>(exact) == simple || (std::isnan(simple) && std::isnan(exact));
}

std::string RenderScalars(double wall_time, std::int64_t step, std::span<const Scalar> scalars,
                          ScalarWidth width) {
  std::string payload;
  protozero::pbf_builder<EventField> event(payload);
  event.add_double(EventField::kWallTime, wall_time);
  event.add_int64(EventField::kStep, step);
  {
    protozero::pbf_builder<SummaryField> summary(event, EventField::kSummary);
    for (const Scalar& scalar : scalars) {
      protozero::pbf_builder<ValueField> value(summary, SummaryField::kValue);
      value.add_string(ValueField::kTag, scalar.tag.data(), scalar.tag.size());
      const auto simple = static_cast<float>(scalar.value);
      value.add_float(ValueField::kSimpleValue, simple);
      const bool is_float = simple == scalar.value || std::isnan(scalar.value);
      if (width == ScalarWidth::kDouble && !is_float) {
        value.add_double(ValueField::kExactValue, scalar.value);
      }
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
