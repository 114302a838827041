#ifndef TOOLS_YARD_CONFIGURATION_SETTINGS_H_
#define TOOLS_YARD_CONFIGURATION_SETTINGS_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/yard/state/wanted.h"

namespace yard {

// The settings of a yard by their keys in a configuration file: "slots", "keep_trials",
// "services.datamanager.cache_mb". A Wanted holds the same settings as services use them.

// A top-level key of a configuration file that sets a service's flag.
struct FlagKey {
  std::string_view key;      // The flag has the same name.
  std::string_view service;  // Empty if it sets the flag of every service.
};
// Returns all such keys.
const std::vector<FlagKey>& FlagKeys();

// Returns the key for flag `name` of a service: its top-level key, else
// "services.SERVICE.NAME".
std::string KeyOfFlag(std::string_view service, std::string_view name);

// Returns the settings of `wanted` as text: the value of a service's flag, "gpu=0,1 slots=4" for a
// list of resources. Settings that were not made are absent.
std::map<std::string, std::string> SettingsOf(const Wanted& wanted);

// Returns the keys whose settings differ.
std::set<std::string> DifferentSettings(const Wanted& a, const Wanted& b);

// Replaces the settings of `base` by those that `over` has, for services' flags by name. Keeps the
// origins and the file of `base`.
Wanted Over(Wanted base, const Wanted& over);

// Returns the "NAME=VALUE" flags with each name once; the last value wins.
std::vector<std::string> LastOfEach(const std::vector<std::string>& flags);

}  // namespace yard

#endif  // TOOLS_YARD_CONFIGURATION_SETTINGS_H_
