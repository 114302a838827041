#ifndef TOOLS_YARD_HEALTH_TENSORBOARD_HEALTH_H_
#define TOOLS_YARD_HEALTH_TENSORBOARD_HEALTH_H_

#include <string>
#include <vector>

#include "tools/yard/health/health.h"
#include "tools/yard/health/info_health.h"

namespace yard {

// A rule of `yard doctor` (health.h): finds TensorBoards of this user that should read through our
// data server, but have silently fallen back to reading in Python.

struct FallbackFacts {
  ToolFacts tool;
  bool proxy = false;  // Its gRPC connects to the server through a proxy.
};
Findings CheckFallbacks(const std::vector<FallbackFacts>& fallbacks);

// Asks the first 8 TensorBoards whose environment names our data server how they read their data.
// Skips those that do not answer within a second. Blocks.
std::vector<FallbackFacts> LookForFallbacks(const std::vector<ToolFacts>& tools);

// The same for one tool, with its environment ("NAME=value").
bool HasFallenBack(const ToolFacts& tool, const std::vector<std::string>& environment);

}  // namespace yard

#endif  // TOOLS_YARD_HEALTH_TENSORBOARD_HEALTH_H_
