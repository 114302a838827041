#include "tools/yard/cli/configuration_directory.h"

namespace yard {

std::string ConfigurationDirectory(const std::vector<std::string>& environment) {
  const auto value = [&](const std::string& name) {
    for (const std::string& entry : environment) {
      if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
    }
    return std::string();
  };
  constexpr char kOurs[] = "/trainyard";
  if (const std::string home = value("XDG_CONFIG_HOME"); home.starts_with('/')) return home + kOurs;
  const std::string home = value("HOME");
  return home.starts_with('/') ? home + "/.config" + kOurs : "";
}

}  // namespace yard
