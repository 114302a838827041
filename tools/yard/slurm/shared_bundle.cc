#include "tools/yard/slurm/shared_bundle.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"
#include "runtime/text/random_id.h"

namespace yard {
namespace {

constexpr std::size_t kDigits = 16;

// Writes all files of the bundle into a new directory.
absl::Status Write(const Bundle& bundle, const std::string& directory) {
  if (absl::Status made = runtime::MakeDirectories(directory + "/lib", 0700); !made.ok()) {
    return made;
  }
  for (const Bundle::File& file : bundle.files) {
    absl::Status written =
        runtime::WriteFileAtomically(absl::StrCat(directory, "/", file.name), file.content,
                                     runtime::FileMode::Exactly(0700), /*durable=*/true);
    if (!written.ok()) return written;
  }
  return absl::OkStatus();
}

// Matches b-0123456789abcdef, and with a suffix after a dot, which names unfinished copies.
bool IsNameOfBundle(std::string_view name) {
  if (!name.starts_with("b-")) return false;
  const std::string_view digits = name.substr(2, name.find('.') - 2);
  return digits.size() == kDigits &&
         digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string SharedBundlePath(const std::string& digest, const std::string& directory) {
  return absl::StrCat(directory, "/b-", digest.substr(0, kDigits));
}

// Renames the directory once it is complete, so that its final name never shows a partial copy.
absl::StatusOr<std::string> ShareBundle(const Bundle& bundle, const std::string& directory) {
  const std::string path = SharedBundlePath(bundle.digest, directory);
  if (access((path + "/yard-node").c_str(), X_OK) == 0) {
    TouchSharedBundle(path);
    return path;
  }
  if (absl::Status made = runtime::MakeDirectories(directory, 0700); !made.ok()) return made;
  const std::string fresh = absl::StrCat(path, ".", runtime::RandomName(""), ".new");
  std::error_code error;
  if (absl::Status written = Write(bundle, fresh); !written.ok()) {
    std::filesystem::remove_all(fresh, error);
    return written;
  }
  std::filesystem::rename(fresh, path, error);
  const std::error_code failed = error;
  if (failed) std::filesystem::remove_all(fresh, error);
  // Another process may have been faster.
  if (access((path + "/yard-node").c_str(), X_OK) == 0) return path;
  return absl::ErrnoToStatus(failed.value(), absl::StrCat("cannot make ", path));
}

void TouchSharedBundle(const std::string& path) {
  (void)utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

// Renames a directory before deleting it, so that its final name never shows a partial copy.
std::vector<std::string> RemoveOldBundles(const std::string& directory,
                                          const std::set<std::string>& kept, absl::Duration unused,
                                          absl::Time now) {
  std::vector<std::string> removed;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const std::string path = absl::StrCat(directory, "/", name);
    if (!IsNameOfBundle(name) || kept.contains(path)) continue;
    struct stat about {};
    if (lstat(path.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) continue;
    if (about.st_uid != geteuid() || now - absl::TimeFromTimespec(about.st_mtim) < unused) continue;
    const std::string old = absl::StrCat(path, ".", runtime::RandomName(""), ".old");
    std::error_code failed;
    std::filesystem::rename(path, old, failed);
    if (failed) continue;
    std::filesystem::remove_all(old, failed);
    removed.push_back(path);
  }
  return removed;
}

}  // namespace yard
