#ifndef EVENTLOG_NUMBER_TYPE_H_
#define EVENTLOG_NUMBER_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace eventlog {

// Type of a tensor's elements. The two formats number the types differently; these numbers are our
// own. Pure functions; any thread.
enum class NumberType : std::uint8_t {
  kUnknown,
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kInt2,  // Small integers occupy a byte each.
  kInt4,
  kUint2,
  kUint4,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kFloat4E2m1fn,  // Occupies a byte, like the next ones.
  kFloat8E4m3b11fnuz,
  kFloat8E4m3fn,
  kFloat8E4m3fnuz,
  kFloat8E5m2,
  kFloat8E5m2fnuz,
  kComplex64,  // Two floats, the real part first.
  kComplex128,
  kString,
};

// Converts tensorflow.DataType; a quantised integer becomes its integer, a reference (+100) its
// target.
NumberType NumberTypeOfTensorFlow(std::int32_t dtype);
// Converts DataType of MindSpore's anf_ir.proto.
NumberType NumberTypeOfMindSpore(std::int32_t data_type);
// Returns TensorFlow's number of the type; 0 for kUnknown.
std::int32_t TensorFlowNumber(NumberType type);

// Returns the field of a tensorflow.TensorProto that lists such elements, 0 for kUnknown. (4-bit
// and 8-bit floats share one field of bytes.)
std::uint32_t TensorFlowListField(NumberType type);

// Returns the name in NumPy and ml_dtypes, such as "float32"; "unknown" for kUnknown.
std::string_view NameOf(NumberType type);

bool IsComplex(NumberType type);
// Returns how many numbers form an element: 2 for complex types, 0 for kString and kUnknown, else
// 1.
int ComponentsOf(NumberType type);
// Returns the bytes of one such number in `tensor_content`.
std::size_t BytesOfComponent(NumberType type);

// Returns the number whose representation is in the low bits; ignores higher bits. Rounds a 64-bit
// integer to the nearest double. Not for kString and kUnknown.
double NumberOf(NumberType type, std::uint64_t bits);

}  // namespace eventlog

#endif  // EVENTLOG_NUMBER_TYPE_H_
