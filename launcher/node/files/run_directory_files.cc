#include "launcher/node/files/run_directory_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "launcher/node/files/hashed_file.h"

namespace launcher {
namespace {

absl::Status Failed(const char* verb, const std::string& path) {
  if (errno == ENOENT) return absl::NotFoundError(absl::StrCat(path, " is not there"));
  return absl::UnavailableError(absl::StrCat("cannot ", verb, " ", path, ": ", strerror(errno)));
}

// Reads one tree.
class Reader {
 public:
  Reader(const std::string& run_directory, const std::atomic<bool>& gives_up)
      : run_directory_(run_directory), gives_up_(gives_up) {}

  absl::Status Take(const std::string& path) {
    const runtime::UniqueFd fd =
        OpenInRun(run_directory_, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
    if (!fd.valid() && errno == ELOOP) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is a symbolic link; next: copy the file to that place"));
    }
    struct stat about = {};
    if (!fd.valid() || fstat(fd.get(), &about) != 0) return Failed("open", path);
    if (S_ISREG(about.st_mode)) return TakeFile(path, fd.get());
    if (S_ISDIR(about.st_mode)) return TakeDirectory(path, fd.get());
    return absl::InvalidArgumentError(absl::StrCat(path, " is neither a file nor a directory"));
  }
  FileList TakeList() { return std::move(list_); }

 private:
  absl::Status Count(const std::string& path) {
    if (gives_up_) return absl::CancelledError("given up");
    if (!IsRunPath(path)) {
      return absl::InvalidArgumentError(absl::StrCat("the path ", path, " is too long (at most ",
                                                     kMaxRunPath, " bytes and ", kMaxRunPathDepth,
                                                     " names)"));
    }
    if (list_.files.size() + list_.directories.size() < kMaxTreeFiles) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("there are more than ", kMaxTreeFiles,
                                                   " files and directories, up to ", path));
  }

  absl::Status TakeFile(const std::string& path, int fd) {
    if (auto counted = Count(path); !counted.ok()) return counted;
    auto hashed = HashFile(fd, gives_up_);
    if (absl::IsCancelled(hashed.status())) return hashed.status();
    if (!hashed.ok()) {
      return absl::UnavailableError(absl::StrCat(path, ": ", hashed.status().message()));
    }
    list_.files.push_back(
        {.path = path, .size = hashed->size, .sha256 = std::move(hashed->sha256)});
    return absl::OkStatus();
  }

  absl::Status TakeDirectory(const std::string& path, int fd) {
    if (auto counted = Count(path); !counted.ok()) return counted;
    list_.directories.push_back(path);
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(fdopendir(dup(fd)), closedir);
    if (directory == nullptr) return Failed("read", path);
    std::vector<std::string> names;
    while (const dirent* const entry = readdir(directory.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      if (names.size() > kMaxTreeFiles) break;  // (The error is reported below.)
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      const std::string below = absl::StrCat(path, "/", name);
      if (auto counted = Count(below); !counted.ok()) return counted;
      if (auto taken = Take(below); !taken.ok()) return taken;
    }
    return absl::OkStatus();
  }

  const std::string& run_directory_;
  const std::atomic<bool>& gives_up_;
  FileList list_;
};

}  // namespace

runtime::UniqueFd OpenInRun(const std::string& run_directory, const std::string& path, int flags,
                            mode_t mode) {
  runtime::UniqueFd at(open(run_directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::string_view rest = path;
  while (at.valid()) {
    const std::size_t end = rest.find('/');
    const std::string name(rest.substr(0, end));
    const int of_directory = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const bool is_last = end == rest.npos;
    at = runtime::UniqueFd(openat(at.get(), name.c_str(),
                                  is_last ? flags | O_NOFOLLOW | O_CLOEXEC : of_directory, mode));
    if (is_last) break;
    rest.remove_prefix(end + 1);
  }
  return at;
}

absl::StatusOr<FileList> ReadTree(const std::string& run_directory, const std::string& path,
                                  const std::atomic<bool>& gives_up) {
  if (!IsRunPath(path)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " does not name a directory below the run directory"));
  }
  Reader reader(run_directory, gives_up);
  if (auto taken = reader.Take(path); !taken.ok()) return taken;
  return reader.TakeList();
}

}  // namespace launcher
