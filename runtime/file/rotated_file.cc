#include "runtime/file/rotated_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"

namespace runtime {

bool IsOpenOn(int fd, const std::string& path) {
  struct stat open {
  }, there{};
  return fstat(fd, &open) == 0 && stat(path.c_str(), &there) == 0 && S_ISREG(open.st_mode) &&
         open.st_dev == there.st_dev && open.st_ino == there.st_ino;
}

absl::StatusOr<std::unique_ptr<RotatedFile>> RotatedFile::Open(Options options) {
  auto file = std::unique_ptr<RotatedFile>(new RotatedFile(std::move(options)));
  if (!file->options_.descriptors.empty()) return file;
  if (absl::Status begun = file->Begin(); !begun.ok()) return begun;
  return file;
}

void RotatedFile::Append(std::string_view lines) {
  struct stat about {};
  const bool full = fstat(fd(), &about) == 0 && about.st_size > 0 &&
                    static_cast<std::uint64_t>(about.st_size) + lines.size() > options_.limit;
  if (IsElsewhere()) {
    (void)Begin();
  } else if (full) {
    BeginNext();
  }
  (void)WriteAll(fd(), lines);  // An error cannot be reported: this is the log.
}

void RotatedFile::Look() {
  struct stat about {};
  if (fstat(fd(), &about) != 0 || static_cast<std::uint64_t>(about.st_size) <= options_.limit) {
    return;
  }
  // If the path has another file now, its owner handles it.
  if (!IsElsewhere()) BeginNext();
}

bool RotatedFile::IsElsewhere() const { return !IsOpenOn(fd(), options_.path); }

void RotatedFile::BeginNext() {
  Retire();
  (void)Begin();
}

// Opens the file that is at the path now. The old file stays open if that fails.
absl::Status RotatedFile::Begin() {
  UniqueFd next(open(options_.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!next.valid()) {
    return absl::UnavailableError(
        absl::StrCat("cannot open ", options_.path, ": ", strerror(errno)));
  }
  for (const int descriptor : options_.descriptors) dup2(next.get(), descriptor);
  if (options_.descriptors.empty()) own_ = std::move(next);
  return absl::OkStatus();
}

// Deletes the oldest file and renames each other one to the next older name.
void RotatedFile::Retire() const {
  const auto old = [this](int age) {
    return age == 0 ? options_.path : absl::StrCat(options_.path, ".", age);
  };
  if (options_.kept == 0) {
    unlink(options_.path.c_str());
    return;
  }
  for (int age = options_.kept - 1; age >= 0; --age) {
    // Stop: the file that could not be renamed must not be overwritten.
    if (rename(old(age).c_str(), old(age + 1).c_str()) != 0 && errno != ENOENT) return;
  }
}

}  // namespace runtime
