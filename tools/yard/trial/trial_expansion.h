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

// Expands one command into many trials: the configurations that --config, --configs and --grid
// stand for. Pure. (Similar to Ray Tune's grid_search, for values only.)

using TrialConfig = nlohmann::ordered_json;  // An object.

inline constexpr std::size_t kMaxTrialsOfCommand = 10'000;
inline constexpr std::size_t kMaxConfig = 512 << 10;  // Limit of one in bytes, as in the trainer.

struct TrialExpansion {
  std::string config;                // JSON object common to all; empty for {}.
  std::optional<std::string> lines;  // One JSON object a line; empty lines are skipped.
  std::string lines_name;            // Name of the lines in errors: their file.
  std::vector<std::string> grid;     // "NAME=V1,V2"
};

struct ExpandedTrial {
  TrialConfig config;
  std::map<std::string, std::string> typed = {};  // Numbers of the grid as typed: "1e-4".
};

// Returns the lines in order, each with every combination of the grid (the last NAME varies
// fastest). The grid overrides the line, which overrides `config`. A value that is valid JSON, or a
// number such as .5, 1. or +2, has its JSON type (0.1 a number, true a boolean, [1,2] an array);
// any other word is a string. InvalidArgument names the flag, or file and line, for malformed
// input, a repeated NAME, no trials, or more than kMaxTrialsOfCommand.
absl::StatusOr<std::vector<ExpandedTrial>> ExpandTrials(const TrialExpansion& expansion);

// Parses a JSON object of at most 32 levels, the trainer's limit. InvalidArgument.
absl::StatusOr<TrialConfig> ParseConfig(std::string_view text);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_TRIAL_EXPANSION_H_
