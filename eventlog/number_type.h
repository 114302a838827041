#ifndef EVENTLOG_NUMBER_TYPE_H_
#define EVENTLOG_NUMBER_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace eventlog {

// Type of the elements of a tensor. The two formats number the types differently; these numbers are
// ours.
// Pure functions, any thread.
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
  kInt2,  // The small integers take a byte each.
  kInt4,
  kUint2,
  kUint4,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kFloat4E2m1fn,  // A byte each as well.
  kFloat8E4m3b11fnuz,
  kFloat8E4m3fn,
  kFloat8E4m3fnuz,
  kFloat8E5m2,
  kFloat8E5m2fnuz,
  kComplex64,  // Two floats, the real part first.
  kComplex128,
  kString,
};

// tensorflow.DataType; a quantised integer is its integer, a reference (+100) what it refers to.
NumberType NumberTypeOfTensorFlow(std::int32_t dtype);
// DataType of MindSpore's anf_ir.proto.
NumberType NumberTypeOfMindSpore(std::int32_t data_type);
// The number that TensorFlow has for it; 0 for kUnknown.
std::int32_t TensorFlowNumber(NumberType type);

// The field of a tensorflow.TensorProto that lists its elements, 0 for kUnknown. (The floats of 4
// and 8 bits stand in one field of bytes.)
std::uint32_t TensorFlowListField(NumberType type);

// "float32", as NumPy and ml_dtypes call it; "unknown".
std::string_view NameOf(NumberType type);

bool IsComplex(NumberType type);
// Numbers that an element consists of: 2 for a complex one, 0 for kString and kUnknown, else 1.
int ComponentsOf(NumberType type);
// Bytes of one such number in `tensor_content`.
std::size_t BytesOfComponent(NumberType type);

// The number whose representation is in the low bits; higher ones are ignored. A 64-bit integer is
// rounded to the nearest double; not for kString and kUnknown.
double NumberOf(NumberType type, std::uint64_t bits);

}  // namespace eventlog

#endif  // EVENTLOG_NUMBER_TYPE_H_
