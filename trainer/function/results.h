#ifndef TRAINER_FUNCTION_RESULTS_H_
#define TRAINER_FUNCTION_RESULTS_H_

#include <coroutine>
#include <type_traits>
#include <utility>

#include "trainer/function/named_values.h"

namespace trainer {

// Name of a result that is a plain number, as in Ray Tune.
inline constexpr char kAnonymousMetric[] = "_metric";

// Return type of a function that yields its results one by one, like a Python generator:
//
//   Results Train(const NamedValues& config) {
//     for (int epoch = 1; epoch <= 10; ++epoch) co_yield NamedValues{{"epoch", epoch}};
//   }
//
// Not thread-safe. Destroying it destroys the function's live objects, also in mid-run.
class Results {
 public:
  class promise_type {
   public:
    Results get_return_object() {
      return Results(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(NamedValues values) {
      values_ = std::move(values);
      return {};
    }
    template <typename T>
    requires std::is_arithmetic_v<T> std::suspend_always yield_value(T metric) {
      return yield_value(NamedValues{{kAnonymousMetric, metric}});
    }
    void return_void() {}
    void unhandled_exception() { throw; }

   private:
    friend class Results;
    NamedValues values_;
  };

  Results(Results&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Results& operator=(Results&&) = delete;
  ~Results() {
    if (handle_) handle_.destroy();
  }

  // Runs the function to its next result; returns null at its end. Rethrows its exceptions.
  const NamedValues* Next() {
    if (handle_.done()) return nullptr;
    handle_.resume();
    return handle_.done() ? nullptr : &handle_.promise().values_;
  }

 private:
  explicit Results(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace trainer

#endif  // TRAINER_FUNCTION_RESULTS_H_
