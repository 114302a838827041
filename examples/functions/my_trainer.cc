// A trainer with functions of its own: linked with //trainer:trainer_main, it is the yard's trainer
// after
//
//   yard up --trainer bazel-bin/examples/functions/my_trainer
//   yard run --function newton --config '{"target": 2}'
//   yard run --function descent --grid rate=0.1,0.4,1.1

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include "examples/functions/newton.h"
#include "trainer/function/functions.h"
#include "trainer/function/named_values.h"
#include "trainer/function/reporter.h"
#include "trainer/function/training_progress.h"

namespace {

using trainer::NamedValues;

// Gradient descent to the least of (x - 3)^2, with files as checkpoints; fails where it diverges.
void Descend(const NamedValues& config, trainer::Reporter& reporter) {
  const double rate = config.Number("rate");
  const std::chrono::milliseconds pause(config.Integer("min_ms", 0));
  double x = 0;
  std::int64_t step = 0;
  if (const auto checkpoint = reporter.checkpoint()) {
    std::FILE* const file = std::fopen((checkpoint->directory + "/x").c_str(), "r");
    if (file == nullptr || std::fscanf(file, "%lf %ld", &x, &step) != 2) {
      throw std::runtime_error("cannot read " + checkpoint->directory + "/x");
    }
    std::fclose(file);
  }
  for (;;) {
    std::this_thread::sleep_for(pause);
    x -= rate * 2 * (x - 3);
    ++step;
    const double loss = (x - 3) * (x - 3);
    if (loss > 1e6) throw std::runtime_error("diverged with a rate of " + std::to_string(rate));
    reporter.SaveCheckpoint(step, [&](const std::string& directory) {
      std::FILE* const file = std::fopen((directory + "/x").c_str(), "w");
      if (file == nullptr) throw std::runtime_error("cannot write into " + directory);
      std::fprintf(file, "%.17g %ld\n", x, step);
      std::fclose(file);
    });
    reporter.Report({{"x", x}, {"loss", loss}, {"step", step}});
  }
}

// It never returns: this says when it has done enough.
bool IsGoodEnough(const trainer::Result& result) { return result.reported.Number("loss") < 1e-6; }

const trainer::RegisteredFunction kNewton("newton", Newton);
const trainer::RegisteredFunction kDescent("descent", Descend, {.stop = IsGoodEnough});

}  // namespace
