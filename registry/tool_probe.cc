#include "registry/tool_probe.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/process_identity.h"

namespace registry {
namespace {

constexpr std::string_view kListening = "0A";  // TCP_LISTEN, as the kernel prints it.

// Seconds since 1970 at which this machine was started; follows the clock when it is set.
std::int64_t BootTime() {
  std::ifstream stat("/proc/stat");
  std::string key;
  std::int64_t value = 0;
  while (stat >> key) {
    if (key == "btime" && stat >> value) return value;
    stat.ignore(1 << 20, '\n');
  }
  return 0;
}

// Lines of /proc/net/tcp: number, local address:port (hexadecimal), remote, state, queues, timer,
// retransmits, uid, ...
void AddPorts(const char* path, uid_t uid, std::set<int>* ports) {
  std::ifstream table(path);
  std::string line;
  std::getline(table, line);  // The heading.
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::string number, local, remote, state, queues, timer, retransmits;
    uid_t owner = 0;
    fields >> number >> local >> remote >> state >> queues >> timer >> retransmits >> owner;
    const auto colon = local.rfind(':');
    int port = 0;
    if (!fields || state != kListening || owner != uid || colon == std::string::npos) continue;
    if (absl::SimpleHexAtoi(local.substr(colon + 1), &port)) ports->insert(port);
  }
}

class KernelProbe : public ToolProbe {
 public:
  std::optional<Process> Look(pid_t pid) override {
    const auto identity = runtime::IdentityOf(pid);
    struct stat status = {};
    if (!identity.ok() || stat(absl::StrCat("/proc/", pid).c_str(), &status) != 0) return {};
    const auto ticks = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
    return Process{status.st_uid,
                   BootTime() + static_cast<std::int64_t>(identity->start_ticks / ticks)};
  }

  std::set<int> ListeningPorts(uid_t uid) override {
    std::set<int> ports;
    AddPorts("/proc/net/tcp", uid, &ports);
    AddPorts("/proc/net/tcp6", uid, &ports);
    return ports;
  }
};

}  // namespace

ToolProbe* ToolProbe::Kernel() {
  static auto* const kernel = new KernelProbe;
  return kernel;
}

}  // namespace registry
