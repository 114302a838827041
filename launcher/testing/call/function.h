#ifndef LAUNCHER_TESTING_CALL_FUNCTION_H_
#define LAUNCHER_TESTING_CALL_FUNCTION_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "launcher/testing/spec/codec.h"

namespace launcher::testing {

// Functions that run in another process. That process executes the same binary and finds a function
// by its name, so each function is registered before main(), by an object at namespace scope:
//
//   absl::StatusOr<double> Train(int steps, const std::string& mode) { ... }
//   const Function kTrain("Train", Train);
//
//   runner(kTrain.With(100, "fast"), ...)
//
// Arguments and results must have a Codec (codec.h). A function that returns void or an empty
// optional has no result; one that returns an absl::Status, or throws, may fail.
//
// Replaces the pickled closures of the original, which have no counterpart in C++; use a struct for
// keyword arguments.

// The arguments of one function.
struct Arguments {
  std::string function;
  std::string bytes;
  // The original arguments, which keep the shared objects among them alive.
  std::shared_ptr<const void> given = nullptr;
};

// A function, with or without its arguments.
struct Call {
  std::string function;
  std::optional<std::string> bytes;  // nullopt while it has no arguments.
  std::shared_ptr<const void> given = nullptr;
};

// The result of a call.
struct Returned {
  absl::Status status;
  std::optional<EncodedValue> value = std::nullopt;
};

namespace internal {

using Body = std::function<Returned(std::string_view arguments)>;
// Registers a function. A name that is registered twice ends the process, since it would be
// ambiguous.
void RegisterFunction(const std::string& name, Body body);

template <typename R>
struct ResultOf {
  static Returned Make(const R& value) { return {absl::OkStatus(), EncodedValue::Of(value)}; }
};
template <>
struct ResultOf<absl::Status> {
  static Returned Make(const absl::Status& status) { return {status}; }
};
template <typename T>
struct ResultOf<std::optional<T>> {
  static Returned Make(const std::optional<T>& value) {
    return value ? ResultOf<T>::Make(*value) : Returned{absl::OkStatus()};
  }
};
template <typename T>
struct ResultOf<absl::StatusOr<T>> {
  static Returned Make(const absl::StatusOr<T>& value) {
    return value.ok() ? ResultOf<T>::Make(*value) : Returned{value.status()};
  }
};

}  // namespace internal

// Calls a registered function in this process. NotFound if no function has that name. An exception
// becomes a status with its what(): InvalidArgument, OutOfRange, or Unknown for other exceptions.
Returned CallHere(const std::string& function, std::string_view arguments);
bool IsFunction(const std::string& name);

template <typename Signature>
class Function;

template <typename R, typename... A>
class Function<R(A...)> {
 public:
  // Must be constructed before main(), at namespace scope.
  Function(std::string name, R (*body)(A...)) : name_(std::move(name)) {
    internal::RegisterFunction(
        name_, [body, name = name_](std::string_view bytes) { return Invoke(body, name, bytes); });
  }

  const std::string& name() const { return name_; }
  Arguments Args(std::decay_t<A>... arguments) const {
    auto given = std::make_shared<const Tuple>(std::move(arguments)...);
    return {name_, Encode(*given), given};
  }
  Call With(std::decay_t<A>... arguments) const {
    auto given = std::make_shared<const Tuple>(std::move(arguments)...);
    return {name_, Encode(*given), given};
  }
  // A call without arguments, which is complete only if the function has no parameters.
  operator Call() const {  // NOLINT(google-explicit-constructor): a function is a call of it.
    if constexpr (sizeof...(A) == 0) return With();
    return {name_, std::nullopt};
  }

 private:
  using Tuple = std::tuple<std::decay_t<A>...>;

  static Returned Invoke(R (*body)(A...), const std::string& name, std::string_view bytes) {
    std::optional<Tuple> arguments = Decode<Tuple>(bytes);
    if (!arguments) {
      return {absl::InvalidArgumentError("the arguments of " + name + " are not " +
                                         Codec<Tuple>::Name())};
    }
    if constexpr (std::is_void_v<R>) {
      std::apply(body, *std::move(arguments));
      return {absl::OkStatus()};
    } else {
      return internal::ResultOf<R>::Make(std::apply(body, *std::move(arguments)));
    }
  }

  std::string name_;
};
template <typename R, typename... A>
Function(std::string, R (*)(A...)) -> Function<R(A...)>;

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_CALL_FUNCTION_H_
