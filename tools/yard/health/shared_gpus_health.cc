#include "tools/yard/health/shared_gpus_health.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "runtime/file/file.h"

namespace yard {
namespace {

std::string NameOfUser(uid_t uid) {
  passwd entry = {}, *found = nullptr;
  char buffer[16384];
  const bool is_known =
      getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr;
  return is_known ? found->pw_name : absl::StrCat("user ", uid);
}

}  // namespace

Findings CheckSharedGpus(const SharedGpusFacts& facts) {
  const std::string check = "shared GPUs";
  if (!facts.problem.empty()) {
    return {{facts.has_gpus ? Level::kBad : Level::kWarn, check, facts.problem,
             "see docs/shared_machine.md"}};
  }
  if (!facts.directory.empty()) {
    return {{Level::kOk, check, absl::StrCat("by the locks in ", facts.directory), ""}};
  }
  if (!facts.has_gpus || facts.others.empty()) return {};
  return {{Level::kWarn, check,
           absl::StrCat("nothing keeps this yard off GPUs that trials of ",
                        absl::StrJoin(facts.others, ", "), " use"),
           "as root: groupadd -f yard-machine && install -d -m 2770 -g yard-machine "
           "/var/lib/trainyard-machine (docs/shared_machine.md)"}};
}

std::vector<std::string> OthersWithAYard(const std::string& proc, std::size_t most) {
  std::map<uid_t, std::set<std::string>> services;
  std::error_code error;
  std::filesystem::directory_iterator entry(proc, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string folder = entry->path().string();
    struct stat about = {};
    if (stat(folder.c_str(), &about) != 0 || about.st_uid == geteuid()) continue;
    auto name = runtime::ReadFile(folder + "/comm", 64);
    if (!name.ok()) continue;
    absl::string_view word = *name;
    absl::ConsumeSuffix(&word, "\n");
    if (word == "launcher" || word == "registry" || word == "trainer") {
      services[about.st_uid].insert(std::string(word));
    }
  }
  std::vector<std::string> users;
  for (const auto& [uid, names] : services) {
    if (names.size() == 3 && users.size() < most) users.push_back(NameOfUser(uid));
  }
  return users;
}

}  // namespace yard
