#include "runtime/process/metrics_port.h"

#include <algorithm>

namespace runtime {
namespace {

bool IsPort(const std::string& flag) { return flag.starts_with("metrics_port="); }

}  // namespace

void LeaveOneMetricsPort(std::map<std::string, std::vector<std::string>>* flags) {
  const auto registry = flags->find("registry");
  if (registry == flags->end()) return;
  const auto port = std::find_if(registry->second.begin(), registry->second.end(), IsPort);
  if (port == registry->second.end()) return;
  const std::string typed = *port;
  std::vector<std::string>& of_web = (*flags)["web"];
  const auto place = std::find_if(of_web.begin(), of_web.end(), IsPort);
  place == of_web.end() ? of_web.push_back(typed) : void(*place = typed);
  for (auto& [service, list] : *flags) {
    if (service != "web") std::erase_if(list, IsPort);
  }
  std::erase_if(*flags, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace runtime
