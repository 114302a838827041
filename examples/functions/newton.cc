#include "examples/functions/newton.h"

#include <chrono>
#include <cmath>
#include <thread>

void Newton(const trainer::NamedValues& config, trainer::Reporter& reporter) {
  const double target = config.Number("target", 2);
  const std::chrono::milliseconds pause(config.Integer("min_ms", 0));
  double root = config.Number("start", target);
  const auto checkpoint = reporter.checkpoint();
  if (checkpoint) root = checkpoint->values->Number("root");
  for (double loss = 1; loss > 1e-12;) {
    std::this_thread::sleep_for(pause);
    root = (root + target / root) / 2;
    loss = std::abs(root * root - target);
    reporter.SaveCheckpoint({{"root", root}});
    reporter.Report({{"root", root}, {"loss", loss}});
  }
}
