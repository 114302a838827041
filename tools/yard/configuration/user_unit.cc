#include "tools/yard/configuration/user_unit.h"

#include <errno.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"
#include "runtime/text/string_view.h"

namespace yard {
namespace {

constexpr char kName[] = "trainyard.service";
// Variables that locate a yard: the unit starts the yard of the shell that enabled it.
constexpr std::string_view kPlaces[] = {"XDG_CONFIG_HOME",
                                        "XDG_STATE_HOME",
                                        "XDG_RUNTIME_DIR",
                                        "YARD_STATE",
                                        "YARD_REGISTRY",
                                        "CUDA_VISIBLE_DEVICES",
                                        "PATH"};

std::string ValueOf(const std::vector<std::string>& environment, std::string_view name) {
  const std::string start = absl::StrCat(runtime::Absl(name), "=");
  for (const std::string& entry : environment) {
    if (entry.starts_with(start)) return entry.substr(start.size());
  }
  return "";
}

// Quotes a word of a unit file so that systemd reads `text` back.
std::string UnitWord(std::string_view text, bool of_command) {
  std::string word = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') word += '\\';
    if (c == '%') word += '%';
    if (c == '$' && of_command) word += '$';
    word += c;
  }
  return word + "\"";
}

bool HasLineBreak(std::string_view text) {
  return text.find_first_of(std::string_view("\n\r\0", 3)) != std::string_view::npos;
}

}  // namespace

absl::StatusOr<UserUnit> MakeUserUnit(const std::string& yard, const std::string& file,
                                      const std::vector<std::string>& environment) {
  std::string variables;
  for (const std::string_view name : kPlaces) {
    const std::string value = ValueOf(environment, name);
    if (HasLineBreak(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("$", runtime::Absl(name), " has a line break: no unit can hold it"));
    }
    if (value.empty()) continue;
    absl::StrAppend(&variables,
                    "Environment=", UnitWord(absl::StrCat(runtime::Absl(name), "=", value), false),
                    "\n");
  }
  for (const std::string& path : {yard, file}) {
    if (HasLineBreak(path)) {
      return absl::InvalidArgumentError("a path with a line break: no unit can hold it");
    }
  }
  std::string directory = ValueOf(environment, "XDG_CONFIG_HOME");
  if (!directory.starts_with('/')) {
    const std::string home = ValueOf(environment, "HOME");
    if (!home.starts_with('/')) {
      return absl::InvalidArgumentError(
          "neither $XDG_CONFIG_HOME nor $HOME says where the units of this user are");
    }
    directory = home + "/.config";
  }
  directory += "/systemd/user";
  const std::string program = UnitWord(yard, true);
  return UserUnit{
      .path = absl::StrCat(directory, "/", kName),
      .link = absl::StrCat(directory, "/default.target.wants/", kName),
      .text = absl::StrCat("# Written by `yard config enable`, which replaces it.\n"
                           "[Unit]\n"
                           "Description=Trainyard: the yard\n"
                           "\n"
                           "[Service]\n"
                           "Type=oneshot\n"
                           "RemainAfterExit=yes\n",
                           variables,
                           "WorkingDirectory=%h\n"
                           "ExecStart=",
                           program, " up ", UnitWord(file, true),
                           "\n"
                           "ExecStop=",
                           program,
                           " down --timeout 60\n"
                           "# yard down ends all that it has started; what yard down --keep leaves "
                           "goes on.\n"
                           "KillMode=process\n"
                           "Delegate=yes\n"
                           "TimeoutStopSec=90\n"
                           "\n"
                           "[Install]\n"
                           "WantedBy=default.target\n")};
}

absl::Status InstallUserUnit(const UserUnit& unit) {
  const std::filesystem::path wants = std::filesystem::path(unit.link).parent_path();
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::symlink_status(wants / "trainyard.target", error))) {
    return absl::FailedPreconditionError(
        "systemd starts the services one by one already; next: systemctl --user disable --now "
        "trainyard.target");
  }
  if (absl::Status made = runtime::MakeDirectories(wants.string()); !made.ok()) return made;
  if (absl::Status written = runtime::WriteFileAtomically(unit.path, unit.text, 0644, true);
      !written.ok()) {
    return written;
  }
  // The same link as that of `systemctl --user enable`.
  const std::string target = "../" + std::string(kName);
  if (std::filesystem::read_symlink(unit.link, error) == target) return absl::OkStatus();
  (void)unlink(unit.link.c_str());
  if (symlink(target.c_str(), unit.link.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make the link ", unit.link));
  }
  return absl::OkStatus();
}

}  // namespace yard
