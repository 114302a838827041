#include "eventlog/scalar_event.h"

#include <cstddef>
#include <cstdint>

#include "eventlog/record.h"

namespace eventlog {
namespace {

// The first byte of a field with a number below 16: the number and the wire type.
enum Key : char {
  kEventWallTime = 1 << 3 | 1,
  kEventStep = 2 << 3 | 0,
  kEventSummary = 5 << 3 | 2,
  kSummaryValue = 1 << 3 | 2,
  kValueTag = 1 << 3 | 2,
  kValueSimple = 2 << 3 | 5,
  kValueTensor = 8 << 3 | 2,
  kValueMetadata = 9 << 3 | 2,
  kTensorDtype = 1 << 3 | 0,
  kTensorShape = 2 << 3 | 2,
  kTensorContent = 4 << 3 | 2,
  kTensorFloats = 5 << 3 | 2,
  kTensorFloat = 5 << 3 | 5,
  kTensorDoubles = 6 << 3 | 2,
  kTensorDouble = 6 << 3 | 1,
  kMetadataPlugin = 1 << 3 | 2,
  kMetadataDisplayName = 2 << 3 | 2,
  kMetadataDescription = 3 << 3 | 2,
  kMetadataDataClass = 4 << 3 | 0,
  kPluginName = 1 << 3 | 2,
  kPluginContent = 2 << 3 | 2,
};
constexpr std::uint8_t kFloat = 1, kDouble = 2;  // tensorflow.DataType

// Key of the double beside a `simple_value`, whose field number is above 15 (event.cc lists all
// fields).
constexpr std::string_view kExactValueKey = "\xc1\x3e";  // 1000 << 3 | 1

// A summary with more values is left to DecodeEvent(), which has a limit.
constexpr std::size_t kMaxValues = 10'000;

// The unread part of a message. Each Take... method returns false if something else follows; the
// rest is then in an unspecified state.
struct Rest {
  const char* at;
  const char* end;

  explicit Rest(std::string_view message)
      : at(message.data()), end(message.data() + message.size()) {}

  bool empty() const { return at == end; }
  std::size_t size() const { return static_cast<std::size_t>(end - at); }
  bool Take(Key key) {
    if (at == end || *at != key) return false;
    ++at;
    return true;
  }
  bool Take(std::string_view key) {
    if (!std::string_view(at, size()).starts_with(key)) return false;
    at += key.size();
    return true;
  }
  bool TakeByte(std::uint8_t* byte) {
    if (at == end || static_cast<unsigned char>(*at) >= 0x80) return false;
    *byte = static_cast<std::uint8_t>(*at++);
    return true;
  }
  // Takes a varint of at most `kMaxBytes` bytes; a longer one is rare, or malformed.
  template <int kMaxBytes>
  bool TakeVarint(std::uint64_t* value) {
    std::uint64_t result = 0;
    for (int shift = 0; shift < 7 * kMaxBytes && at != end; shift += 7) {
      const auto byte = static_cast<unsigned char>(*at++);
      result |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) {
        *value = result;
        return true;
      }
    }
    return false;
  }
  bool TakeBytes(std::string_view* bytes) {
    std::uint64_t length;
    if (!TakeVarint<4>(&length) || length > size()) return false;
    *bytes = {at, static_cast<std::size_t>(length)};
    at += length;
    return true;
  }
  template <typename Number>
  bool TakeFixed(double* value) {
    if (size() < sizeof(Number)) return false;
    *value = LoadLittleEndian<Number>(at);
    at += sizeof(Number);
    return true;
  }
};

// `packed` and `single` are the keys of the type's own field.
template <typename Number>
bool TakeElement(Key packed, Key single, Rest* rest, double* value) {
  if (rest->Take(single)) return rest->TakeFixed<Number>(value);
  std::uint8_t size;
  return (rest->Take(packed) || rest->Take(kTensorContent)) && rest->TakeByte(&size) &&
         size == sizeof(Number) && rest->TakeFixed<Number>(value);
}

bool DecodeTensor(std::string_view bytes, double* value) {
  Rest rest(bytes);
  std::uint8_t dtype, shape_size = 0;
  if (!rest.Take(kTensorDtype) || !rest.TakeByte(&dtype)) return false;
  if (rest.Take(kTensorShape) && (!rest.TakeByte(&shape_size) || shape_size != 0)) return false;
  const bool taken =
      (dtype == kFloat && TakeElement<float>(kTensorFloats, kTensorFloat, &rest, value)) ||
      (dtype == kDouble && TakeElement<double>(kTensorDoubles, kTensorDouble, &rest, value));
  return taken && rest.empty();
}

bool DecodeMetadata(std::string_view bytes, SummaryValue* value) {
  value->metadata = bytes;
  Rest rest(bytes);
  std::string_view skipped;
  if (rest.Take(kMetadataPlugin)) {
    std::string_view plugin;
    if (!rest.TakeBytes(&plugin)) return false;
    Rest fields(plugin);
    if (fields.Take(kPluginName) && !fields.TakeBytes(&value->plugin)) return false;
    if (fields.Take(kPluginContent) && !fields.TakeBytes(&skipped)) return false;
    if (!fields.empty()) return false;
  }
  if (rest.Take(kMetadataDisplayName) && !rest.TakeBytes(&skipped)) return false;
  if (rest.Take(kMetadataDescription) && !rest.TakeBytes(&skipped)) return false;
  if (rest.Take(kMetadataDataClass)) {
    std::uint8_t data_class;
    if (!rest.TakeByte(&data_class)) return false;
    value->data_class = static_cast<DataClass>(data_class);
  }
  return rest.empty();
}

bool DecodeValue(std::string_view bytes, SummaryValue* value) {
  Rest rest(bytes);
  if (!rest.Take(kValueTag) || !rest.TakeBytes(&value->tag)) return false;
  double scalar;
  if (rest.Take(kValueSimple)) {
    if (!rest.TakeFixed<float>(&scalar)) return false;
    value->kind = ValueKind::kSimpleValue;
  } else {
    if (!rest.Take(kValueTensor) || !rest.TakeBytes(&value->bytes)) return false;
    if (!DecodeTensor(value->bytes, &scalar)) return false;
    value->kind = ValueKind::kTensor;
  }
  value->scalar = scalar;
  if (rest.empty()) return true;
  double exact;
  if (value->kind == ValueKind::kSimpleValue && rest.Take(kExactValueKey)) {
    if (!rest.TakeFixed<double>(&exact)) return false;
    if (IsExactValueOf(static_cast<float>(scalar), exact)) value->scalar = exact;
    return rest.empty();
  }
  std::string_view metadata;
  return rest.Take(kValueMetadata) && rest.TakeBytes(&metadata) &&
         DecodeMetadata(metadata, value) && rest.empty();
}

}  // namespace

bool DecodeScalarEvent(std::string_view payload, Event* event) {
  event->Clear();
  Rest rest(payload);
  if (!rest.Take(kEventWallTime) || !rest.TakeFixed<double>(&event->wall_time)) return false;
  // A negative step has ten bytes, which is rare, so DecodeEvent() handles it.
  std::uint64_t step = 0;
  if (rest.Take(kEventStep) && !rest.TakeVarint<9>(&step)) return false;
  event->step = static_cast<std::int64_t>(step);
  std::string_view summary;
  if (!rest.Take(kEventSummary) || !rest.TakeBytes(&summary) || !rest.empty()) return false;
  event->kind = EventKind::kSummary;
  for (Rest values(summary); !values.empty();) {
    // Copied as in DecodeEvent(), because constructing it in place compiles to a string
    // instruction.
    static constexpr SummaryValue kEmpty;
    std::string_view value;
    if (!values.Take(kSummaryValue) || !values.TakeBytes(&value)) return false;
    if (event->values.size() >= kMaxValues) return false;
    event->values.push_back(kEmpty);
    if (!DecodeValue(value, &event->values.back())) return false;
  }
  return true;
}

}  // namespace eventlog
