#ifndef TOOLS_YARD_TRIAL_PROVENANCE_H_
#define TOOLS_YARD_TRIAL_PROVENANCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tools/yard/trial/git_state.h"

namespace yard {

// Provenance of a run, as far as the caller's directory shows it.

// Facts common to the programs of one command.
struct Provenance {
  GitState git;
  std::string working_directory, hostname, user, yard;
  std::string python;  // Version of Python if it runs the program; else empty.
};
// Blocks on git and python, for a few seconds at most.
Provenance ReadProvenance(const std::string& program, const std::string& working_directory,
                          const std::vector<std::string>& environment);

// Returns the trainer's format: command, argv, working_directory, hostname, user, seed, versions,
// git.
nlohmann::ordered_json ToJson(const Provenance& provenance, const std::vector<std::string>& argv,
                              std::uint64_t seed);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_PROVENANCE_H_
