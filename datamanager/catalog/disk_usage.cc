#include "datamanager/catalog/disk_usage.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace datamanager {
namespace {

constexpr std::uint64_t kBlock = 512;  // Bytes per block of stat(2).
constexpr std::uint64_t kFilesBetweenQuestions = 1024;

struct Place {
  std::string path;
  bool in_checkpoint = false;
};

void Count(const std::string& name, bool in_checkpoint, std::uint64_t bytes, DiskUsage* usage) {
  ++usage->files;
  usage->bytes += bytes;
  if (in_checkpoint) {
    usage->checkpoint_bytes += bytes;
  } else if (absl::StrContains(name, "tfevents")) {
    usage->event_bytes += bytes;
  } else if (absl::EndsWith(name, ".stdout") || absl::EndsWith(name, ".stderr")) {
    usage->log_bytes += bytes;
  }
}

}  // namespace

absl::StatusOr<DiskUsage> MeasureDisk(const std::string& directory,
                                      const std::set<std::string>& without,
                                      const std::function<bool()>& is_cancelled) {
  struct stat stat {};
  if (lstat(directory.c_str(), &stat) != 0) {
    return absl::NotFoundError(absl::StrCat("cannot measure ", directory, ": ", strerror(errno)));
  }
  DiskUsage usage;
  std::set<std::pair<dev_t, ino_t>> several_names;
  std::vector<Place> open = {{directory}};
  std::uint64_t looked_at = 0;
  while (!open.empty()) {
    const Place place = std::move(open.back());
    open.pop_back();
    std::error_code error;
    std::filesystem::directory_iterator entries(place.path, error), end;
    for (; !error && entries != end; entries.increment(error)) {
      if (++looked_at % kFilesBetweenQuestions == 0 && is_cancelled()) {
        return absl::CancelledError("nobody waits for the room of runs any more");
      }
      const std::string path = entries->path(), name = entries->path().filename();
      if (lstat(path.c_str(), &stat) != 0) continue;
      if (S_ISDIR(stat.st_mode)) {
        const bool is_left_out = name == ".trash" || without.contains(path);
        const bool is_checkpoint = absl::StartsWith(name, "checkpoint_");
        if (!is_left_out) open.push_back({path, place.in_checkpoint || is_checkpoint});
        continue;
      }
      const bool is_counted =
          stat.st_nlink > 1 && !several_names.emplace(stat.st_dev, stat.st_ino).second;
      const auto blocks = static_cast<std::uint64_t>(stat.st_blocks);
      if (!is_counted) Count(name, place.in_checkpoint, blocks * kBlock, &usage);
    }
  }
  return usage;
}

}  // namespace datamanager
