#ifndef TOOLS_YARD_TRIAL_TRIAL_EXPANSION_H_
#define TOOLS_YARD_TRIAL_TRIAL_EXPANSION_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace yard {

// One command, many trials: the configurations that --config, --configs and --grid stand for. Pure.
// (Ray Tune's grid_search, for values alone.)

using TrialConfig = nlohmann::ordered_json;  // An object.

inline constexpr std::size_t kMaxTrialsOfCommand = 10'000;
inline constexpr std::size_t kMaxConfig = 512 << 10;  // Bytes of one; the trainer's limit.

struct TrialExpansion {
  std::string config;                // A JSON object that all have; empty: {}.
  std::optional<std::string> lines;  // A JSON object a line; empty lines do not count.
  std::string lines_name;            // Name of the lines in errors: the file.
  std::vector<std::string> grid;     // "NAME=V1,V2"
};

struct ExpandedTrial {
  TrialConfig config;
  std::map<std::string, std::string> typed = {};  // Numbers of the grid, as they were: "1e-4".
};

// The lines in their order, each with every combination of the grid (the last NAME changes first);
// what comes later in config, line, grid counts. A value that is JSON, or a number (.5, 1., +2), is
// what it says (0.1 a number, true a truth value, [1,2] an array), any other word a string.
// InvalidArgument names the flag, or file and line: what is malformed, a NAME twice, no trials, or
// more than kMaxTrialsOfCommand.
absl::StatusOr<std::vector<ExpandedTrial>> ExpandTrials(const TrialExpansion& expansion);

// A JSON object of at most 32 levels, as the trainer takes it. InvalidArgument.
absl::StatusOr<TrialConfig> ParseConfig(std::string_view text);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_TRIAL_EXPANSION_H_
