#include "tools/yard/services/outdated.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "runtime/file/locations.h"
#include "tools/yard/state/service_presence.h"

namespace yard {

bool RunsAnotherProgram(pid_t pid, const std::string& program) {
  struct stat running = {}, installed = {};
  // The kernel resolves this link to the file itself, even if it was deleted.
  if (stat(absl::StrCat("/proc/", pid, "/exe").c_str(), &running) != 0 ||
      stat(program.c_str(), &installed) != 0) {
    return false;
  }
  return running.st_dev != installed.st_dev || running.st_ino != installed.st_ino;
}

std::string ProgramOf(const std::string& service, const Wanted& wanted) {
  if (service == "trainer" && !wanted.trainer.empty()) return wanted.trainer;
  return runtime::FindBinary(absl::StrCat(service, "/", service)).value_or("");
}

std::vector<std::string> OutdatedServices(const runtime::Locations& locations,
                                          const Wanted& wanted) {
  std::vector<std::string> outdated;
  for (const char* service : {"launcher", "registry", "datamanager", "trainer", "web", "gate"}) {
    const pid_t holder = HolderOf(locations, service);
    if (holder == 0 || IsExternal(locations, service) ||
        !RunsAnotherProgram(holder, ProgramOf(service, wanted))) {
      continue;
    }
    outdated.emplace_back(service);
  }
  return outdated;
}

}  // namespace yard
