#ifndef TOOLS_YARD_CONFIGURATION_SETTINGS_FILE_H_
#define TOOLS_YARD_CONFIGURATION_SETTINGS_FILE_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/slurm/engine_flags.h"
#include "tools/yard/state/wanted.h"

namespace yard {

// The configuration file of a yard, yard.yaml: docs/configuration.md. `yard up` and `yard config`
// read it; services read no file and get flags instead.

struct SettingsFile {
  std::string path;  // Absolute path; as typed for stdin.
  // Its logdir is empty if the file has none. Its `file` and `origins` are set.
  Wanted wanted;
  // Default engine and Slurm settings of jobs, for verbs, which read them each time.
  EngineWish engine = {};
  // Position of each setting by key: "LINE:COLUMN".
  std::map<std::string, std::string> places;
};

// Parses a file's text, YAML or JSON. Relative paths are resolved from `directory`.
// InvalidArgument has one line for each error: "FILE:LINE:COLUMN: KEY: what". Calls no service and
// touches no file.
absl::StatusOr<SettingsFile> ParseSettings(std::string_view text, const std::string& file,
                                           const std::string& directory);

// The same, from a file found from the caller's directory. Blocks. Errors such as NotFound name the
// path.
absl::StatusOr<SettingsFile> ReadSettings(const Context& context, const std::string& file);

// Returns $XDG_CONFIG_HOME/trainyard/yard.yaml, else ~/.config/trainyard/yard.yaml; empty if the
// environment has neither variable.
std::string StandardSettingsPath(const std::vector<std::string>& environment);

// Reads `file`, or if that is empty the standard file; nothing if that does not exist.
absl::StatusOr<std::optional<SettingsFile>> FindSettings(const Context& context,
                                                         const std::string& file);

// Runs the services' programs to check the file's flags, and checks that the `trainer` program
// exists. Blocks for some seconds at most. InvalidArgument as from ParseSettings().
absl::Status CheckSettings(const Context& context, const SettingsFile& file);
// Prefixes an error of CheckServiceFlags() with the position of the flag in the file, if it is
// there.
absl::Status AtItsPlace(const SettingsFile& file, const absl::Status& wrong);

// Documentation of a key of a configuration file.
struct SettingKey {
  std::string_view name, type, fallback, meaning;
};
// Returns the top-level keys, in the order of the reference.
std::vector<SettingKey> SettingKeys();

}  // namespace yard

#endif  // TOOLS_YARD_CONFIGURATION_SETTINGS_FILE_H_
