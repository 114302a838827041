#include "runtime/locations.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "runtime/file.h"
#include "runtime/string_view.h"

namespace runtime {
namespace {

constexpr std::size_t kSocketPathLimit = 107;
// The longest name that is put behind the runtime directory.
constexpr std::size_t kLongestSocketName = 32;

std::string Environment(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? "" : value;
}

std::string ParentOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string OwnPath() {
  char buffer[4096];
  const ssize_t size = readlink("/proc/self/exe", buffer, sizeof buffer);
  return size <= 0 ? "" : std::string(buffer, static_cast<std::size_t>(size));
}

bool IsRegularFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::vector<std::string> RunfilesRoots() {
  std::vector<std::string> roots;
  for (const char* name : {"RUNFILES_DIR", "TEST_SRCDIR"}) {
    const std::string value = Environment(name);
    if (!value.empty()) roots.push_back(value + "/yard");
  }
  roots.push_back(OwnPath() + ".runfiles/yard");
  return roots;
}

absl::StatusOr<std::string> FirstFile(std::string_view what,
                                      const std::vector<std::string>& places) {
  for (const std::string& place : places) {
    if (IsRegularFile(place)) return place;
  }
  return absl::NotFoundError(
      absl::StrCat("cannot find ", Absl(what), "; looked for ", absl::StrJoin(places, ", ")));
}

}  // namespace

absl::StatusOr<Locations> Locations::FromEnvironment() {
  Locations locations;
  locations.registry_address = Environment("YARD_REGISTRY");
  const std::string runtime = Environment("XDG_RUNTIME_DIR");
  const char* source = "YARD_REGISTRY";
  if (absl::StartsWith(locations.registry_address, "ipc://")) {
    locations.runtime_directory = ParentOf(locations.registry_address.substr(6));
  } else if (!runtime.empty()) {
    source = "XDG_RUNTIME_DIR";
    locations.runtime_directory = runtime + "/yard";
  } else {
    source = "TMPDIR";
    const std::string temporary = Environment("TMPDIR");
    locations.runtime_directory =
        absl::StrCat(temporary.empty() ? "/tmp" : temporary, "/yard-", getuid());
  }
  if (locations.runtime_directory.empty() || locations.runtime_directory[0] != '/') {
    return absl::InvalidArgumentError(absl::StrCat(source, " must give an absolute path"));
  }
  if (locations.runtime_directory.size() + kLongestSocketName > kSocketPathLimit) {
    return absl::InvalidArgumentError(absl::StrCat(
        source,
        " gives a directory that is too long for socket paths: ", locations.runtime_directory,
        " (at most ", kSocketPathLimit - kLongestSocketName, " bytes)"));
  }
  if (locations.registry_address.empty()) {
    locations.registry_address = locations.ServiceAddress("registry");
  }
  locations.state_directory = Environment("YARD_STATE");
  if (locations.state_directory.empty()) {
    const std::string state = Environment("XDG_STATE_HOME"), home = Environment("HOME");
    if (state.empty() && home.empty()) {
      return absl::InvalidArgumentError(
          "set HOME, XDG_STATE_HOME or YARD_STATE: where is state kept?");
    }
    locations.state_directory = (state.empty() ? home + "/.local/state" : state) + "/trainyard";
  }
  return locations;
}

std::string Locations::LogDirectory() const { return state_directory + "/log"; }

std::string Locations::LockPath(std::string_view service) const {
  return absl::StrCat(runtime_directory, "/", Absl(service), ".lock");
}

std::string Locations::ServiceAddress(std::string_view service) const {
  return absl::StrCat("ipc://", runtime_directory, "/", Absl(service));
}

absl::Status EnterCallersDirectory() {
  const std::string directory = Environment("BUILD_WORKING_DIRECTORY");
  for (const char* name : {"BUILD_WORKING_DIRECTORY", "BUILD_WORKSPACE_DIRECTORY"}) unsetenv(name);
  if (directory.empty() || chdir(directory.c_str()) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno,
                             absl::StrCat("cannot go to the caller's directory ", directory));
}

absl::StatusOr<std::string> FindBinary(std::string_view label_path) {
  const std::string path(label_path);
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string here = ParentOf(OwnPath());
  std::vector<std::string> places = {here + "/" + name, here + "/../libexec/" + name,
                                     here + "/../bin/" + name};
  for (const std::string& root : RunfilesRoots()) places.push_back(root + "/" + path);
  return FirstFile(label_path, places);
}

absl::StatusOr<std::string> FindDataFile(std::string_view path) {
  const std::string here = ParentOf(OwnPath());
  std::vector<std::string> places;
  for (const std::string& root : RunfilesRoots())
    places.push_back(absl::StrCat(root, "/", Absl(path)));
  places.push_back(absl::StrCat(here, "/../share/yard/", Absl(path)));
  return FirstFile(path, places);
}

}  // namespace runtime
