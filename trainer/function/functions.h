#ifndef TRAINER_FUNCTION_FUNCTIONS_H_
#define TRAINER_FUNCTION_FUNCTIONS_H_

#include <atomic>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/function/named_values.h"
#include "trainer/function/reporter.h"
#include "trainer/function/results.h"
#include "trainer/function/training_progress.h"

namespace trainer {

struct FunctionOptions {
  // If true, warns once that a function without a reporter cannot resume from a checkpoint.
  bool warn_without_checkpoints = true;
  // Returns whether the trial ends, as done, with this result. Called after each result, while the
  // function is parked; an exception from it fails the function. Unset: never ends the trial.
  std::function<bool(const Result& result)> stop = {};
};

// A trainable function: any of the signatures below, converted to a single form.
struct TrainableFunction {
  std::string name;
  std::function<absl::Status(const NamedValues& config, Reporter& reporter)> run;
  // True if the function takes a reporter, so that it can save checkpoints and resume from them.
  bool can_checkpoint = false;
  FunctionOptions options;
  // True once the warning was given; shared by all copies.
  std::shared_ptr<std::atomic<bool>> warned = std::make_shared<std::atomic<bool>>(false);
};

template <typename F>
concept TakesReporter = std::invocable<const F&, const NamedValues&, Reporter&>;
template <typename F>
concept TakesConfig = std::invocable<const F&, const NamedValues&>;

// The types that a function may return: void; a number, reported as "_metric"; NamedValues,
// reported unless empty; Results, each of which is reported; or a status, whose error is the
// function's.
template <typename R>
concept Reportable = std::is_void_v<R> || std::is_arithmetic_v<R> || std::same_as<R, NamedValues> ||
    std::same_as<R, Results> || std::same_as<R, absl::Status>;

template <typename F>
struct FunctionResult {};
template <TakesReporter F>
struct FunctionResult<F> {
  using type = std::invoke_result_t<const F&, const NamedValues&, Reporter&>;
};
template <typename F>
requires(TakesConfig<F> && !TakesReporter<F>) struct FunctionResult<F> {
  using type = std::invoke_result_t<const F&, const NamedValues&>;
};

// A callable that MakeFunction() accepts.
template <typename F>
concept TrainableCallable = (TakesReporter<F> ||
                             TakesConfig<F>)&&Reportable<typename FunctionResult<F>::type>;

// Runs `call` and reports its return value.
template <typename Call>
absl::Status ReportResultOf(Reporter& reporter, const Call& call) {
  using R = std::invoke_result_t<const Call&>;
  if constexpr (std::is_void_v<R>) {
    call();
  } else if constexpr (std::is_arithmetic_v<R>) {
    reporter.Report({{kAnonymousMetric, call()}});
  } else if constexpr (std::same_as<R, NamedValues>) {
    NamedValues values = call();
    if (!values.empty()) reporter.Report(std::move(values));
  } else if constexpr (std::same_as<R, Results>) {
    Results results = call();
    while (const NamedValues* values = results.Next()) reporter.Report(*values);
  } else {
    return call();
  }
  return absl::OkStatus();
}

// Converts a function to the single form. A wrong signature does not compile.
template <typename F>
TrainableFunction MakeFunction(std::string name, F function, FunctionOptions options = {}) {
  static_assert(TakesReporter<F> || TakesConfig<F>,
                "a trainable function takes (const NamedValues& config) or "
                "(const NamedValues& config, Reporter& reporter)");
  if constexpr (TakesReporter<F> || TakesConfig<F>) {
    static_assert(Reportable<typename FunctionResult<F>::type>,
                  "a trainable function returns void, a number, NamedValues, Results or "
                  "absl::Status");
  }
  TrainableFunction made;
  made.name = std::move(name);
  made.can_checkpoint = TakesReporter<F>;
  made.options = std::move(options);
  if constexpr (TrainableCallable<F>) {
    made.run = [function = std::move(function)](const NamedValues& config, Reporter& reporter) {
      return ReportResultOf(reporter, [&]() -> typename FunctionResult<F>::type {
        if constexpr (TakesReporter<F>) {
          return function(config, reporter);
        } else {
          return function(config);
        }
      });
    };
  }
  return made;
}

// Registers a function under its name in this process; the latest of a name wins. Any thread.
void RegisterFunction(TrainableFunction function);
template <typename F>
void RegisterFunction(std::string name, F function, FunctionOptions options = {}) {
  RegisterFunction(MakeFunction(std::move(name), std::move(function), std::move(options)));
}
// Registers a function before main(), in one line of a program that links //trainer:trainer_main:
//
//   const trainer::RegisteredFunction kTrain("train", Train);
class RegisteredFunction {
 public:
  template <typename F>
  RegisteredFunction(std::string name, F function, FunctionOptions options = {}) {
    RegisterFunction(std::move(name), std::move(function), std::move(options));
  }
};

// Finds a registered function. NotFound lists the registered names.
absl::StatusOr<TrainableFunction> FindFunction(std::string_view name);
// Returns the registered names, sorted.
std::vector<std::string> FunctionNames();

// Returns the warning that a function without a reporter cannot checkpoint, once for all its
// copies; nullopt if it was given, is silenced, or does not apply.
std::optional<std::string> CheckpointWarning(const TrainableFunction& function);

// Returns whether the function's own `stop` ends the trial with this result; an exception from
// `stop` becomes the error.
absl::StatusOr<bool> EndsAt(const TrainableFunction& function, const Result& result);

}  // namespace trainer

#endif  // TRAINER_FUNCTION_FUNCTIONS_H_
