#include "launcher/run/unused_work.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace launcher {

std::string WorkDirectory(const std::string& state_directory) { return state_directory + "/work"; }

std::string WorkPath(const std::string& state_directory, const std::string& sha256) {
  return WorkDirectory(state_directory) + "/" + sha256;
}

void RemoveUnusedWork(const std::string& directory, const std::set<std::string>& used,
                      absl::Time now, absl::Duration age) {
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    struct stat about = {};
    if (used.contains(entry->path().filename().string()) ||
        lstat(entry->path().c_str(), &about) != 0 || !S_ISREG(about.st_mode) ||
        now - absl::TimeFromTimespec(about.st_mtim) < age) {
      continue;
    }
    unlink(entry->path().c_str());
  }
}

}  // namespace launcher
