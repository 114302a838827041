#ifndef EVENTLOG_WIRE_H_
#define EVENTLOG_WIRE_H_

#include <cstdint>
#include <exception>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "protozero/exception.hpp"
#include "protozero/pbf_message.hpp"
#include "protozero/pbf_reader.hpp"
#include "protozero/types.hpp"
#include "runtime/text/string_view.h"

namespace eventlog::wire {

// How this folder reads protobuf: by protozero, which only asserts wire types, behind functions
// that check them. They throw exceptions, which never leave this folder, because every parser's
// public function does its work inside Guarded().

using Type = protozero::pbf_wire_type;

// An error in the bytes: a field has the wrong wire type, a required field is missing, or a limit
// is exceeded.
class Error : public std::exception {
 public:
  // `what` must live as long as the program.
  explicit Error(const char* what) : what_(what) {}
  const char* what() const noexcept override { return what_; }

 private:
  const char* what_;
};

template <typename Message>
void Require(const Message& message, Type type) {
  if (message.wire_type() != type) [[unlikely]] {
    throw Error("a field has the wrong wire type");
  }
}
template <typename Message>
std::string_view TakeBytes(Message& message) {
  Require(message, Type::length_delimited);
  const protozero::data_view view = message.get_view();
  return {view.data(), view.size()};
}
template <typename Message>
std::int32_t TakeEnum(Message& message) {
  Require(message, Type::varint);
  return message.get_enum();
}
// Also for int32, uint64 and bool, which are the low bits of the same varint.
template <typename Message>
std::int64_t TakeInt64(Message& message) {
  Require(message, Type::varint);
  return message.get_int64();
}
template <typename Message>
double TakeDouble(Message& message) {
  Require(message, Type::fixed64);
  return message.get_double();
}
template <typename Message>
float TakeFloat(Message& message) {
  Require(message, Type::fixed32);
  return message.get_float();
}
// Open a message for reading by an enumeration's names, or by plain numbers.
template <typename Field>
protozero::pbf_message<Field> Open(std::string_view bytes) {
  return protozero::pbf_message<Field>(bytes.data(), bytes.size());
}
inline protozero::pbf_reader OpenNumbers(std::string_view bytes) {
  return protozero::pbf_reader(bytes.data(), bytes.size());
}

// Runs `parse`; converts its exceptions to InvalidArgument "not THING: why".
template <typename Parse>
absl::Status Guarded(std::string_view thing, Parse parse) {
  try {
    parse();
    return absl::OkStatus();
  } catch (const protozero::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("not ", runtime::Absl(thing), ": ", error.what()));
  } catch (const Error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("not ", runtime::Absl(thing), ": ", error.what()));
  }
}

}  // namespace eventlog::wire

#endif  // EVENTLOG_WIRE_H_
