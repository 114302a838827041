#include "eventlog/graph_attributes.h"

#include "eventlog/protobuf_json.h"

namespace eventlog {
namespace {

using Kind = JsonKind;

const JsonMessage& Dimension() {
  static constexpr JsonField kFields[] = {{1, "size", Kind::kInteger}};
  static constexpr JsonMessage kMessage = {kFields, true};
  return kMessage;
}

const JsonMessage& Shape() {
  static constexpr JsonField kFields[] = {{2, "dim", Kind::kMessage, true, &Dimension},
                                          {3, "unknown_rank", Kind::kBool}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& Tensor() {
  static constexpr JsonField kFields[] = {{1, "dtype", Kind::kTensorFlowType},
                                          {2, "shape", Kind::kMessage, false, &Shape}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& Function() {
  static constexpr JsonField kFields[] = {{1, "name", Kind::kText}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& List() {
  static constexpr JsonField kFields[] = {
      {2, "s", Kind::kText, true},
      {3, "i", Kind::kInteger, true},
      {4, "f", Kind::kFloat, true},
      {5, "b", Kind::kBool, true},
      {6, "type", Kind::kTensorFlowType, true},
      {7, "shape", Kind::kMessage, true, &Shape},
      {8, "tensor", Kind::kMessage, true, &Tensor},
      {9, "func", Kind::kMessage, true, &Function},
  };
  static constexpr JsonMessage kMessage = {kFields, true};
  return kMessage;
}

const JsonMessage& AttrValue() {
  static constexpr JsonField kFields[] = {
      {1, "list", Kind::kMessage, false, &List},
      {2, "s", Kind::kText},
      {3, "i", Kind::kInteger},
      {4, "f", Kind::kFloat},
      {5, "b", Kind::kBool},
      {6, "type", Kind::kTensorFlowType},
      {7, "shape", Kind::kMessage, false, &Shape},
      {8, "tensor", Kind::kMessage, false, &Tensor},
      {9, "placeholder", Kind::kText},
      {10, "func", Kind::kMessage, false, &Function},
  };
  static constexpr JsonMessage kMessage = {kFields, true};
  return kMessage;
}

const JsonMessage& MsShape() {
  static constexpr JsonField kFields[] = {{1, "dim", Kind::kMessage, true, &Dimension}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& MsTensorType() {
  static constexpr JsonField kFields[] = {{1, "elem_type", Kind::kMindSporeType},
                                          {2, "shape", Kind::kMessage, false, &MsShape}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& MsType();

const JsonMessage& MsSequenceType() {
  static constexpr JsonField kFields[] = {{1, "elem_types", Kind::kMessage, true, &MsType}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& MsType() {
  static constexpr JsonField kFields[] = {
      {1, "data_type", Kind::kMindSporeType},
      {2, "tensor_type", Kind::kMessage, false, &MsTensorType},
      {3, "sequence_type", Kind::kMessage, false, &MsSequenceType},
  };
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& MsTensor() {
  static constexpr JsonField kFields[] = {{1, "dims", Kind::kInteger, true},
                                          {2, "data_type", Kind::kMindSporeType}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& MsValue();

const JsonMessage& MsNamedValue() {
  static constexpr JsonField kFields[] = {{1, "key", Kind::kText},
                                          {2, "value", Kind::kMessage, false, &MsValue}};
  static constexpr JsonMessage kMessage = {kFields};
  return kMessage;
}

const JsonMessage& MsValue() {
  static constexpr JsonField kFields[] = {
      {2, "bool_val", Kind::kBool},
      {3, "int_val", Kind::kInteger},
      {4, "uint_val", Kind::kUnsigned},
      {5, "float_val", Kind::kFloat},
      {6, "double_val", Kind::kDouble},
      {7, "str_val", Kind::kText},
      {8, "tensor_val", Kind::kMessage, false, &MsTensor},
      {10, "bool_vals", Kind::kBool, true},
      {11, "int_vals", Kind::kInteger, true},
      {12, "uint_vals", Kind::kUnsigned, true},
      {13, "float_vals", Kind::kFloat, true},
      {14, "double_vals", Kind::kDouble, true},
      {15, "str_vals", Kind::kText, true},
      {16, "tensor_vals", Kind::kMessage, true, &MsTensor},
      {18, "values", Kind::kMessage, true, &MsValue},
      {19, "dict_val", Kind::kMessage, true, &MsNamedValue},
      {20, "type_val", Kind::kMessage, false, &MsType},
  };
  static constexpr JsonMessage kMessage = {kFields, true};
  return kMessage;
}

}  // namespace

absl::StatusOr<std::string> TensorFlowAttributeJson(std::string_view bytes) {
  return ProtobufAsJson(AttrValue(), bytes);
}

absl::StatusOr<std::string> MindSporeValueJson(std::string_view bytes) {
  return ProtobufAsJson(MsValue(), bytes);
}

absl::StatusOr<std::string> MindSporeTypeJson(std::string_view bytes) {
  return ProtobufAsJson(MsType(), bytes);
}

}  // namespace eventlog
