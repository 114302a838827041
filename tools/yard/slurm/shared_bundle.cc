#include "tools/yard/slurm/shared_bundle.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"
#include "runtime/text/random_id.h"

namespace yard {
namespace {

constexpr std::size_t kDigits = 16;

// All files of the bundle, in a new directory.
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

}  // namespace

std::string SharedBundlePath(const std::string& digest, const std::string& directory) {
  return absl::StrCat(directory, "/b-", digest.substr(0, kDigits));
}

// (It has its name once it is whole: a directory of that name is never half written.)
absl::StatusOr<std::string> ShareBundle(const Bundle& bundle, const std::string& directory) {
  const std::string path = SharedBundlePath(bundle.digest, directory);
  if (access((path + "/yard-node").c_str(), X_OK) == 0) return path;
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
  // (Another process was faster.)
  if (access((path + "/yard-node").c_str(), X_OK) == 0) return path;
  return absl::ErrnoToStatus(failed.value(), absl::StrCat("cannot make ", path));
}

}  // namespace yard
