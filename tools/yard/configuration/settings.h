#ifndef TOOLS_YARD_CONFIGURATION_SETTINGS_H_
#define TOOLS_YARD_CONFIGURATION_SETTINGS_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/yard/services/yard_state.h"

namespace yard {

// The settings of a yard by their keys in a configuration file: "slots", "keep_trials",
// "services.datamanager.cache_mb". A Wanted is what the services understand of them.

// A key at the top of a configuration file that is a flag of a service.
struct FlagKey {
  std::string_view key;      // The flag has the same name.
  std::string_view service;  // Empty: of every service.
};
// All of them.
const std::vector<FlagKey>& FlagKeys();

// The key of the flag `name` of a service: its own at the top of the file, else
// "services.SERVICE.NAME".
std::string KeyOfFlag(std::string_view service, std::string_view name);

// The settings that `wanted` has, as texts: of a service's flag its value, of a list of resources
// "gpu=0,1 slots=4". A setting that nobody has made is missing.
std::map<std::string, std::string> SettingsOf(const Wanted& wanted);

// The keys whose settings differ.
std::set<std::string> DifferentSettings(const Wanted& a, const Wanted& b);

// `over` replaces the settings of `base` that it has itself; of a service's flags those of the same
// name. Origins and the file are those of `base`.
Wanted Over(Wanted base, const Wanted& over);

// "NAME=VALUE" flags, each name once: the last one counts.
std::vector<std::string> LastOfEach(const std::vector<std::string>& flags);

}  // namespace yard

#endif  // TOOLS_YARD_CONFIGURATION_SETTINGS_H_
