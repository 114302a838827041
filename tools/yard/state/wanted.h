#ifndef TOOLS_YARD_STATE_WANTED_H_
#define TOOLS_YARD_STATE_WANTED_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/file/locations.h"
#include "tools/yard/cli/context.h"

namespace yard {

// The file STATE/wanted records that this yard should be up. `yard up` writes it, `yard down`
// removes it, and the launcher acts on it.
inline constexpr int kMostSlots = 10'000;
struct Wanted {
  std::string logdir;
  std::string trainer = {};  // Program of the yard's trainer; empty for the standard one.
  // Resources that tasks share: "gpu=0,1", "slots=4"; if empty, the GPUs of this machine.
  std::vector<std::string> resources = {};
  // Flags of the data manager: "cache_mb=512".
  std::vector<std::string> datamanager = {};
  // Further flags of each service, by its name: "log_level=debug".
  std::map<std::string, std::vector<std::string>> flags = {};
  int slots = 0;  // Limit of trials that run at once; 0 for one per core.
  // $CUDA_VISIBLE_DEVICES of `yard up`. It selects the GPUs of this machine even if another shell
  // restarts the launcher later.
  std::optional<std::string> visible_gpus = std::nullopt;
  bool logdir_was_given = false;
  // Absolute path of the configuration file that the settings came from; empty if none.
  std::string file = {};
  // Origin of each setting, by key (configuration/settings.h): "PATH:LINE", or kFromFlag.
  std::map<std::string, std::string> origins = {};

  bool operator==(const Wanted&) const = default;
};
// Names the GPUs that a process may use.
inline constexpr std::string_view kVisibleGpus = "CUDA_VISIBLE_DEVICES";
inline constexpr char kFromFlag[] = "a flag of yard up";
// Returns $CUDA_VISIBLE_DEVICES of the caller, if it is set.
std::optional<std::string> VisibleGpus(const Context& context);
// Returns nothing if the file does not exist. DataLoss if it exists and cannot be read.
absl::StatusOr<std::optional<Wanted>> ReadWanted(const runtime::Locations& locations);
// ResourceExhausted if the settings exceed the launcher's size limit.
absl::Status WriteWanted(const runtime::Locations& locations, const Wanted& wanted);
absl::Status RemoveWanted(const runtime::Locations& locations);

// Settings of the last yard that is no longer wanted: STATE/wanted.last, or STATE/wanted.kept if
// its tasks were kept running. Overwritten by the next one.
struct LastWanted {
  Wanted wanted;
  bool kept = false;
};
std::optional<LastWanted> ReadLastWanted(const runtime::Locations& locations);
// Marks the yard as no longer wanted; its settings become the last ones. Needs no free disk space.
absl::Status RetireWanted(const runtime::Locations& locations, bool kept);

// Returns the settings as shell words of `yard up`: "--slots 4 --resources gpu=0,1".
std::string WordsOf(const Wanted& wanted);
// Returns the flags that a service is started with: "--slots=4".
std::vector<std::string> FlagsOf(const std::string& service, const Wanted& wanted);

}  // namespace yard

#endif  // TOOLS_YARD_STATE_WANTED_H_
