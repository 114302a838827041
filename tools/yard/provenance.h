#ifndef TOOLS_YARD_PROVENANCE_H_
#define TOOLS_YARD_PROVENANCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "nlohmann/json.hpp"

namespace yard {

// Where a run comes from, as far as its caller's directory can say.

inline constexpr std::size_t kMaxDiff = 512 << 10;  // Bytes; the rest is cut off.

struct GitState {
  bool found = false;                  // The directory is in a work tree of git, and git answered.
  std::string root, commit, branch;    // No commit: there is none yet. "HEAD": no branch.
  std::optional<bool> dirty;           // Something is changed, or not known to git; if it said so.
  std::vector<std::string> untracked;  // The first 100, relative to the root.
  std::string diff;                    // From the commit, of what git knows.
  bool diff_is_cut = false;            // Or git did not give it.
};
// Asks the `git` on the PATH of `environment`; runs no hook, pager, external diff or monitor, takes
// no lock, never asks a person. Each question has `deadline`, and what was not answered by then is
// empty. Blocks.
GitState ReadGit(const std::string& directory, const std::vector<std::string>& environment,
                 absl::Duration deadline = absl::Seconds(2));

// The output of `argv`, at most `limit` bytes of it (then it is killed); nothing if it does not
// start, fails, or has not ended by the deadline. Blocks.
struct ProgramOutput {
  bool ok = false;
  bool is_cut = false;
  std::string text;
};
ProgramOutput ReadProgram(const std::vector<std::string>& argv, const std::string& directory,
                          const std::vector<std::string>& environment, std::size_t limit,
                          absl::Duration deadline);

// What the programs of one command have in common.
struct Provenance {
  GitState git;
  std::string working_directory, hostname, user, yard;
  std::string python;  // Its version, if it is what runs; else empty.
};
// Blocks for git and python, a few seconds at most.
Provenance ReadProvenance(const std::string& program, const std::string& working_directory,
                          const std::vector<std::string>& environment);

// As the trainer keeps it: command, argv, working_directory, hostname, user, seed, versions, git.
nlohmann::ordered_json ToJson(const Provenance& provenance, const std::vector<std::string>& argv,
                              std::uint64_t seed);

}  // namespace yard

#endif  // TOOLS_YARD_PROVENANCE_H_
