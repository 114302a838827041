#include "tools/yard/remote/remotes.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/access/key_file.h"
#include "bus/access/key_folder.h"
#include "runtime/file/file.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/configuration_directory.h"

namespace yard {
namespace {

constexpr std::string_view kEnd = ".yard-key";

}  // namespace

Remotes Remotes::Of(const std::vector<std::string>& environment) {
  const std::string directory = ConfigurationDirectory(environment);
  return Remotes(directory.empty() ? "" : directory + "/remotes");
}

absl::Status Remotes::CheckName(std::string_view name) {
  if (bus::KeyFolder::CheckName(name).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", runtime::Printable(name),
      "\" cannot be the name of a remote: it has 1 to 64 letters, digits, \".\", \"_\" and \"-\", "
      "and begins with a letter or a digit"));
}

std::string Remotes::PathOf(const std::string& name) const {
  return absl::StrCat(directory_, "/", name, std::string(kEnd));
}

absl::Status Remotes::NoSuch(const std::string& name) const {
  const std::vector<std::string> names = Names();
  return absl::NotFoundError(absl::StrCat(
      "there is no remote ", runtime::Printable(name),
      names.empty() ? absl::StrCat("; next: yard remote add ", runtime::Printable(name))
                    : absl::StrCat("; there is ", absl::StrJoin(names, ", "))));
}

absl::StatusOr<bus::CurvePair> Remotes::OwnKey() const {
  if (directory_.empty()) {
    return absl::FailedPreconditionError(
        "neither $XDG_CONFIG_HOME nor $HOME says where keys can be kept; next: export HOME");
  }
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(directory_).parent_path(), error);
  if (absl::Status made = runtime::MakePrivateDirectory(directory_); !made.ok()) return made;
  return bus::MakeKeyFile(directory_ + "/own.key");
}

absl::Status Remotes::Add(const std::string& name, const bus::AccessFile& access) const {
  if (absl::Status good = CheckName(name); !good.ok()) return good;
  // This also creates the directory.
  if (const auto own = OwnKey(); !own.ok()) return own.status();
  absl::Status written = bus::WriteAccessFile(PathOf(name), access);
  if (!absl::IsAlreadyExists(written)) return written;
  return absl::AlreadyExistsError(
      absl::StrCat("there is a remote ", name, " already; next: yard remote rm ", name));
}

absl::StatusOr<Remote> Remotes::Find(const std::string& name) const {
  if (directory_.empty() || !CheckName(name).ok()) return NoSuch(name);
  if (access(PathOf(name).c_str(), F_OK) != 0) return NoSuch(name);
  auto access = bus::ReadAccessFile(PathOf(name));
  if (!access.ok()) return access.status();
  return Remote{.name = name, .path = PathOf(name), .access = *std::move(access)};
}

absl::Status Remotes::Remove(const std::string& name) const {
  if (directory_.empty() || !CheckName(name).ok()) return NoSuch(name);
  if (unlink(PathOf(name).c_str()) == 0) return absl::OkStatus();
  if (errno == ENOENT) return NoSuch(name);
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", PathOf(name)));
}

std::vector<std::string> Remotes::Names() const {
  std::vector<std::string> names;
  std::error_code error;
  if (directory_.empty()) return names;
  for (std::filesystem::directory_iterator entry(directory_, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (!name.ends_with(kEnd)) continue;
    name.resize(name.size() - kEnd.size());
    if (CheckName(name).ok()) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace yard
