// A trainable function in a program of its own, without a yard: it is trained for a while, saved,
// and another trial goes on from the checkpoint.
//
//   functions DIRECTORY [CONFIG]     e.g. functions /tmp/run '{"target": 2}'

#include "trainer/function/functions.h"

#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/functions/newton.h"
#include "trainer/function/function_runner.h"
#include "trainer/function/named_values.h"
#include "trainer/function/training_progress.h"

namespace {

using trainer::NamedValues;

// Steps `steps` times, or to the end.
absl::Status StepAndPrint(trainer::FunctionRunner& runner, int steps) {
  for (int i = 0; i < steps; ++i) {
    const absl::StatusOr<trainer::Result> result = runner.Step();
    if (!result.ok()) return result.status();
    if (result->duplicate) break;
    std::printf("%s iteration %d root %.12f loss %.1e\n", result->source->trial_id.c_str(),
                static_cast<int>(result->training_iteration), result->reported.Number("root"),
                result->reported.Number("loss"));
  }
  return absl::OkStatus();
}

absl::Status Run(const std::string& directory, const std::string& json) {
  const auto config = NamedValues::FromJson(json);
  if (!config.ok()) return config.status();
  const trainer::TrainableFunction function = trainer::MakeFunction("newton", Newton);

  trainer::FunctionRunner first(
      function, {.trial = {"first", "first", directory + "/first"}, .config = *config});
  if (auto stepped = StepAndPrint(first, 2); !stepped.ok()) return stepped;
  const auto checkpoint = first.Save();
  if (!checkpoint.ok()) return checkpoint.status();
  if (auto stopped = first.Stop(); !stopped.ok()) return stopped;

  trainer::FunctionRunner second(
      function, {.trial = {"second", "second", directory + "/second"}, .config = *config});
  if (auto restored = second.Restore(*checkpoint); !restored.ok()) return restored;
  if (auto stepped = StepAndPrint(second, 100); !stepped.ok()) return stepped;
  return second.Stop();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: functions DIRECTORY [CONFIG]\n");
    return 2;
  }
  const absl::Status run = Run(argv[1], argc == 3 ? argv[2] : "{}");
  if (run.ok()) return 0;
  std::fprintf(stderr, "functions: %s\n", run.ToString().c_str());
  return 1;
}
