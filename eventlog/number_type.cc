#include "eventlog/number_type.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace eventlog {
namespace {

struct Row {
  NumberType type;
  std::string_view name;
  std::int32_t tensorflow;
  std::uint32_t list_field;
  std::int32_t mindspore;  // 0: unsupported.
  std::int8_t components;
  std::int8_t bytes;
};

// In the order of the enumeration.
constexpr Row kRows[] = {
    {NumberType::kUnknown, "unknown", 0, 0, 0, 0, 0},
    {NumberType::kBool, "bool", 10, 11, 1, 1, 1},
    {NumberType::kInt8, "int8", 6, 7, 2, 1, 1},
    {NumberType::kInt16, "int16", 5, 7, 3, 1, 2},
    {NumberType::kInt32, "int32", 3, 7, 4, 1, 4},
    {NumberType::kInt64, "int64", 9, 10, 5, 1, 8},
    {NumberType::kUint8, "uint8", 4, 7, 6, 1, 1},
    {NumberType::kUint16, "uint16", 17, 7, 7, 1, 2},
    {NumberType::kUint32, "uint32", 22, 16, 8, 1, 4},
    {NumberType::kUint64, "uint64", 23, 17, 9, 1, 8},
    {NumberType::kInt2, "int2", 31, 7, 0, 1, 1},
    {NumberType::kInt4, "int4", 29, 7, 0, 1, 1},
    {NumberType::kUint2, "uint2", 32, 7, 0, 1, 1},
    {NumberType::kUint4, "uint4", 30, 7, 0, 1, 1},
    {NumberType::kFloat16, "float16", 19, 13, 10, 1, 2},
    {NumberType::kBfloat16, "bfloat16", 14, 13, 0, 1, 2},
    {NumberType::kFloat32, "float32", 1, 5, 11, 1, 4},
    {NumberType::kFloat64, "float64", 2, 6, 12, 1, 8},
    {NumberType::kFloat4E2m1fn, "float4_e2m1fn", 33, 18, 0, 1, 1},
    {NumberType::kFloat8E4m3b11fnuz, "float8_e4m3b11fnuz", 27, 18, 0, 1, 1},
    {NumberType::kFloat8E4m3fn, "float8_e4m3fn", 25, 18, 0, 1, 1},
    {NumberType::kFloat8E4m3fnuz, "float8_e4m3fnuz", 26, 18, 0, 1, 1},
    {NumberType::kFloat8E5m2, "float8_e5m2", 24, 18, 0, 1, 1},
    {NumberType::kFloat8E5m2fnuz, "float8_e5m2fnuz", 28, 18, 0, 1, 1},
    {NumberType::kComplex64, "complex64", 8, 9, 0, 2, 4},
    {NumberType::kComplex128, "complex128", 18, 12, 0, 2, 8},
    {NumberType::kString, "string", 7, 8, 13, 0, 0},
};

constexpr auto kByTensorFlow = [] {
  std::array<NumberType, 34> result = {};
  for (const Row& row : kRows) result[static_cast<std::size_t>(row.tensorflow)] = row.type;
  result[11] = NumberType::kInt8;  // Quantised types.
  result[12] = NumberType::kUint8;
  result[13] = NumberType::kInt32;
  result[15] = NumberType::kInt16;
  result[16] = NumberType::kUint16;
  return result;
}();

const Row& RowOf(NumberType type) { return kRows[static_cast<std::size_t>(type)]; }

// How a small float uses the bit patterns that IEEE 754 reserves for infinities and NaN.
enum class Special {
  kIeee,    // The highest exponent is infinity and NaN.
  kFn,      // All ones are NaN; no infinity.
  kFnuz,    // The bits of -0 are NaN; no infinity.
  kFinite,  // Neither.
};

double SmallFloat(unsigned bits, int exponent_bits, int fraction_bits, int bias, Special special) {
  const unsigned sign_bit = 1U << (exponent_bits + fraction_bits);
  const unsigned top = (1U << exponent_bits) - 1;
  const unsigned exponent = (bits >> fraction_bits) & top;
  const unsigned fraction = bits & ((1U << fraction_bits) - 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const int sign = (bits & sign_bit) != 0 ? -1 : 1;
  const unsigned magnitude = bits & (sign_bit - 1);
  if (special == Special::kIeee && exponent == top) {
    return fraction != 0 ? nan : sign * std::numeric_limits<double>::infinity();
  }
  if (special == Special::kFn && magnitude == sign_bit - 1) return nan;
  if (special == Special::kFnuz && magnitude == 0 && sign < 0) return nan;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1U << fraction_bits) + fraction,
                           static_cast<int>(exponent) - bias - fraction_bits);
}

// Interprets the low `width` bits as two's complement.
int Signed(std::uint64_t bits, int width) {
  const int value = static_cast<int>(bits & ((1U << width) - 1));
  return value >= 1 << (width - 1) ? value - (1 << width) : value;
}

}  // namespace

NumberType NumberTypeOfTensorFlow(std::int32_t dtype) {
  constexpr std::int32_t kReference = 100;
  if (dtype > kReference) dtype -= kReference;
  if (dtype < 0 || static_cast<std::size_t>(dtype) >= kByTensorFlow.size()) {
    return NumberType::kUnknown;
  }
  return kByTensorFlow[static_cast<std::size_t>(dtype)];
}

NumberType NumberTypeOfMindSpore(std::int32_t data_type) {
  for (const Row& row : kRows) {
    if (row.mindspore == data_type) return row.type;
  }
  return NumberType::kUnknown;
}

std::int32_t TensorFlowNumber(NumberType type) { return RowOf(type).tensorflow; }
std::uint32_t TensorFlowListField(NumberType type) { return RowOf(type).list_field; }
std::string_view NameOf(NumberType type) { return RowOf(type).name; }
bool IsComplex(NumberType type) { return RowOf(type).components == 2; }
int ComponentsOf(NumberType type) { return RowOf(type).components; }
std::size_t BytesOfComponent(NumberType type) {
  return static_cast<std::size_t>(RowOf(type).bytes);
}

double NumberOf(NumberType type, std::uint64_t bits) {
  const auto byte = static_cast<unsigned>(bits & 0xFF);
  switch (type) {
    case NumberType::kUnknown:
    case NumberType::kString:
      break;
    case NumberType::kBool:
      return bits != 0 ? 1 : 0;
    case NumberType::kInt8:
      return static_cast<std::int8_t>(bits);
    case NumberType::kInt16:
      return static_cast<std::int16_t>(bits);
    case NumberType::kInt32:
      return static_cast<std::int32_t>(bits);
    case NumberType::kInt64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    case NumberType::kUint8:
      return byte;
    case NumberType::kUint16:
      return static_cast<std::uint16_t>(bits);
    case NumberType::kUint32:
      return static_cast<std::uint32_t>(bits);
    case NumberType::kUint64:
      return static_cast<double>(bits);
    case NumberType::kInt2:
      return Signed(bits, 2);
    case NumberType::kInt4:
      return Signed(bits, 4);
    case NumberType::kUint2:
      return byte & 3;
    case NumberType::kUint4:
      return byte & 15;
    case NumberType::kFloat16:
      return SmallFloat(static_cast<std::uint16_t>(bits), 5, 10, 15, Special::kIeee);
    case NumberType::kBfloat16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    case NumberType::kFloat32:
    case NumberType::kComplex64:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case NumberType::kFloat64:
    case NumberType::kComplex128:
      return std::bit_cast<double>(bits);
    case NumberType::kFloat4E2m1fn:
      return SmallFloat(byte & 15, 2, 1, 1, Special::kFinite);
    case NumberType::kFloat8E4m3b11fnuz:
      return SmallFloat(byte, 4, 3, 11, Special::kFnuz);
    case NumberType::kFloat8E4m3fn:
      return SmallFloat(byte, 4, 3, 7, Special::kFn);
    case NumberType::kFloat8E4m3fnuz:
      return SmallFloat(byte, 4, 3, 8, Special::kFnuz);
    case NumberType::kFloat8E5m2:
      return SmallFloat(byte, 5, 2, 15, Special::kIeee);
    case NumberType::kFloat8E5m2fnuz:
      return SmallFloat(byte, 5, 2, 16, Special::kFnuz);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace eventlog
