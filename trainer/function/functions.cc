#include "trainer/function/functions.h"

#include <cxxabi.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/mutex.h"
#include "runtime/text/string_view.h"
#include "trainer/function/function_failure.h"

namespace trainer {
namespace {

struct Registry {
  runtime::Mutex mutex;
  std::map<std::string, TrainableFunction, std::less<>> functions ABSL_GUARDED_BY(mutex);
};

// Never destroyed, because functions are registered before main() and used until the process ends.
Registry& TheRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

}  // namespace

void RegisterFunction(TrainableFunction function) {
  Registry& registry = TheRegistry();
  runtime::MutexLock lock(registry.mutex);
  const std::string name = function.name;
  registry.functions.insert_or_assign(name, std::move(function));
}

absl::StatusOr<TrainableFunction> FindFunction(std::string_view name) {
  Registry& registry = TheRegistry();
  {
    runtime::MutexLock lock(registry.mutex);
    const auto found = registry.functions.find(name);
    if (found != registry.functions.end()) return found->second;
  }
  const auto names = FunctionNames();
  return absl::NotFoundError(
      absl::StrCat("no function ", runtime::Absl(name), " is registered; there ",
                   names.empty() ? "are none" : absl::StrCat("is ", absl::StrJoin(names, ", "))));
}

std::vector<std::string> FunctionNames() {
  Registry& registry = TheRegistry();
  runtime::MutexLock lock(registry.mutex);
  std::vector<std::string> names;
  for (const auto& [name, function] : registry.functions) names.push_back(name);
  return names;
}

std::optional<std::string> CheckpointWarning(const TrainableFunction& function) {
  if (function.can_checkpoint || !function.options.warn_without_checkpoints) return std::nullopt;
  if (function.warned->exchange(true)) return std::nullopt;
  return absl::StrCat("function ", function.name,
                      " cannot go on from a checkpoint, after a failure or a pause it begins anew: "
                      "let it take (const NamedValues& config, Reporter& reporter), or set "
                      "warn_without_checkpoints to false");
}

absl::StatusOr<bool> EndsAt(const TrainableFunction& function, const Result& result) {
  if (!function.options.stop) return false;
  try {
    return function.options.stop(result);
  } catch (const abi::__forced_unwind&) {
    throw;  // The thread is cancelled.
  } catch (...) {
    const absl::Status failure = CurrentFailure();
    return absl::Status(failure.code(), absl::StrCat("the stop function of ", function.name,
                                                     " failed: ", failure.message()));
  }
}

}  // namespace trainer
