#ifndef TOOLS_YARD_SERVICES_TENSORBOARD_HEALTH_H_
#define TOOLS_YARD_SERVICES_TENSORBOARD_HEALTH_H_

#include <string>
#include <vector>

#include "tools/yard/services/health.h"
#include "tools/yard/services/info_health.h"

namespace yard {

// A rule of `yard doctor` (health.h): TensorBoards of this user that were told to read by our data
// server and read by Python, to which TensorBoard falls back without a word.

struct FallbackFacts {
  ToolFacts tool;
  bool proxy = false;  // Its gRPC looks for the server through a proxy.
};
Findings CheckFallbacks(const std::vector<FallbackFacts>& fallbacks);

// Asks each of the first 8 TensorBoards whose environment names our data server how it reads. A
// TensorBoard that does not answer within a second is left out.
std::vector<FallbackFacts> LookForFallbacks(const std::vector<ToolFacts>& tools);

// The same of one, whose environment ("NAME=value" each) is given.
bool HasFallenBack(const ToolFacts& tool, const std::vector<std::string>& environment);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_TENSORBOARD_HEALTH_H_
