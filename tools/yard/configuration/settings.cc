#include "tools/yard/configuration/settings.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/text/string_view.h"
#include "tools/yard/state/service_names.h"

namespace yard {
namespace {

std::string NameOf(const std::string& flag) { return flag.substr(0, flag.find('=')); }

// Returns the flags' values by name.
std::map<std::string, std::string> ByName(const std::vector<std::string>& flags) {
  std::map<std::string, std::string> values;
  for (const std::string& flag : flags) {
    const std::size_t equals = flag.find('=');
    values[NameOf(flag)] = equals == std::string::npos ? "" : flag.substr(equals + 1);
  }
  return values;
}

// Returns all flags of a service; for the data manager, those of its own list first.
std::vector<std::string> AllFlags(const Wanted& wanted, const std::string& service) {
  std::vector<std::string> flags;
  if (service == "datamanager") flags = wanted.datamanager;
  if (const auto more = wanted.flags.find(service); more != wanted.flags.end()) {
    flags.insert(flags.end(), more->second.begin(), more->second.end());
  }
  return flags;
}

}  // namespace

const std::vector<FlagKey>& FlagKeys() {
  static const auto* const keys = new std::vector<FlagKey>{
      {"keep_trials", "trainer"},
      {"min_free", "trainer"},
      {"keep_jobs", "launcher"},
      {"keep_jobs_for", "launcher"},
      {"notify", "launcher"},
      {"notify_kinds", "launcher"},
      {"disk_floor", "launcher"},
      {"alerts", "trainer"},
      {"page", "web"},
      {"metrics_port", "web"},
      {"gate_port", "gate"},
      {"gate_address", "gate"},
      {"log_level", ""},
      {"log_file_mb", ""},
      {"log_files", ""},
  };
  return *keys;
}

std::string KeyOfFlag(std::string_view service, std::string_view name) {
  for (const FlagKey& key : FlagKeys()) {
    if (key.key == name && key.service == service) return std::string(name);
  }
  return absl::StrCat("services.", runtime::Absl(service), ".", runtime::Absl(name));
}

std::map<std::string, std::string> SettingsOf(const Wanted& wanted) {
  std::map<std::string, std::string> settings;
  if (wanted.logdir_was_given) settings["logdir"] = wanted.logdir;
  if (!wanted.trainer.empty()) settings["trainer"] = wanted.trainer;
  if (wanted.slots > 0) settings["slots"] = absl::StrCat(wanted.slots);
  if (!wanted.resources.empty()) settings["resources"] = absl::StrJoin(wanted.resources, " ");
  std::map<std::string, std::map<std::string, std::string>> flags;
  for (const std::string_view service : kAllServices) {
    flags[std::string(service)] = ByName(AllFlags(wanted, std::string(service)));
  }
  // A flag with the same value in all services is one setting.
  for (const FlagKey& key : FlagKeys()) {
    if (!key.service.empty()) continue;
    const std::string name(key.key);
    const auto& first = flags.begin()->second;
    const auto found = first.find(name);
    if (found == first.end()) continue;
    const std::string value = found->second;
    const bool all_have = std::all_of(flags.begin(), flags.end(), [&](const auto& one) {
      const auto its = one.second.find(name);
      return its != one.second.end() && its->second == value;
    });
    if (!all_have) continue;
    settings[name] = value;
    for (auto& [service, values] : flags) values.erase(name);
  }
  for (const auto& [service, values] : flags) {
    for (const auto& [name, value] : values) settings[KeyOfFlag(service, name)] = value;
  }
  return settings;
}

std::set<std::string> DifferentSettings(const Wanted& a, const Wanted& b) {
  const auto of_a = SettingsOf(a), of_b = SettingsOf(b);
  std::set<std::string> different;
  for (const auto& [key, value] : of_a) {
    const auto other = of_b.find(key);
    if (other == of_b.end() || other->second != value) different.insert(key);
  }
  for (const auto& [key, value] : of_b) {
    if (!of_a.contains(key)) different.insert(key);
  }
  return different;
}

std::vector<std::string> LastOfEach(const std::vector<std::string>& flags) {
  std::vector<std::string> last;
  for (const std::string& flag : flags) {
    std::erase_if(last, [&](const std::string& one) { return NameOf(one) == NameOf(flag); });
    last.push_back(flag);
  }
  return last;
}

Wanted Over(Wanted base, const Wanted& over) {
  if (over.logdir_was_given) {
    base.logdir = over.logdir;
    base.logdir_was_given = true;
  }
  if (!over.trainer.empty()) base.trainer = over.trainer;
  if (over.slots > 0) base.slots = over.slots;
  if (!over.resources.empty()) base.resources = over.resources;
  const auto add = [](const std::vector<std::string>& more, std::vector<std::string>* flags) {
    flags->insert(flags->end(), more.begin(), more.end());
    *flags = LastOfEach(*flags);
  };
  if (!over.datamanager.empty()) add(over.datamanager, &base.datamanager);
  // If a name is in both lists of the data manager, the one in `flags` would win, so it is removed
  // there.
  if (const auto shared = base.flags.find("datamanager"); shared != base.flags.end()) {
    for (const std::string& flag : over.datamanager) {
      std::erase_if(shared->second,
                    [&](const std::string& one) { return NameOf(one) == NameOf(flag); });
    }
  }
  for (const auto& [service, flags] : over.flags) add(flags, &base.flags[service]);
  std::erase_if(base.flags, [](const auto& one) { return one.second.empty(); });
  return base;
}

}  // namespace yard
