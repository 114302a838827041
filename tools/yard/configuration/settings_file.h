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
#include "tools/yard/services/yard_state.h"
#include "tools/yard/slurm/engine_flags.h"

namespace yard {

// The configuration file of a yard, yard.yaml: docs/configuration.md. `yard up` and `yard config`
// read it; services know no file, they get flags.

struct SettingsFile {
  std::string path;  // Absolute; as typed where the file has none ("stdin").
  // Without a logdir where the file has none. Its `file` and `origins` are set.
  Wanted wanted;
  // Where jobs run, and what of Slurm they get: for verbs, which read it each time.
  EngineWish engine = {};
  // Where each setting stands, by its key: "LINE:COLUMN".
  std::map<std::string, std::string> places;
};

// Reads the settings of a file's text, YAML or JSON. Relative paths in it begin in `directory`.
// InvalidArgument has a line for each thing that is wrong: "FILE:LINE:COLUMN: KEY: what". Asks no
// service and touches no file.
absl::StatusOr<SettingsFile> ParseSettings(std::string_view text, const std::string& file,
                                           const std::string& directory);

// The same from a file, found from the caller's directory. Blocks. NotFound and the like name the
// path.
absl::StatusOr<SettingsFile> ReadSettings(const Context& context, const std::string& file);

// $XDG_CONFIG_HOME/trainyard/yard.yaml, else ~/.config/trainyard/yard.yaml; empty if the
// environment names neither.
std::string StandardSettingsPath(const std::vector<std::string>& environment);

// `file` if it is not empty, else the standard file if there is one.
absl::StatusOr<std::optional<SettingsFile>> FindSettings(const Context& context,
                                                         const std::string& file);

// Asks the programs of the services whether they take what the file says, and looks for the program
// of `trainer`. Blocks for some seconds at most. InvalidArgument as of ParseSettings().
absl::Status CheckSettings(const Context& context, const SettingsFile& file);
// Adds to an error of CheckServiceFlags() the place where the file has set the flag, if it has.
absl::Status AtItsPlace(const SettingsFile& file, const absl::Status& wrong);

// A key of a configuration file, described for its writer.
struct SettingKey {
  std::string_view name, type, fallback, meaning;
};
// Those at the top of the file, in the order of the reference.
std::vector<SettingKey> SettingKeys();

}  // namespace yard

#endif  // TOOLS_YARD_CONFIGURATION_SETTINGS_FILE_H_
