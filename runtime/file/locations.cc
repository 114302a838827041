#include "runtime/file/locations.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "runtime/text/string_view.h"

namespace runtime {
namespace {

constexpr std::string_view kIpc = "ipc://";
constexpr std::string_view kGate = "gate:";
constexpr char kRegistry[] = "registry";
constexpr char kLongestService[] = "datamanager";
constexpr std::size_t kSocketPathLimit = 107;  // Size of sockaddr_un's path without the final NUL.
constexpr char kWorkspace[] = "yard";          // The workspace's name in runfiles.

constexpr const char* kSetByBazelRun[] = {"BUILD_WORKING_DIRECTORY",
                                          "BUILD_WORKSPACE_DIRECTORY",
                                          "BUILD_EXECROOT",
                                          "BUILD_ID",
                                          "RUNFILES_DIR",
                                          "RUNFILES_MANIFEST_FILE",
                                          "JAVA_RUNFILES",
                                          "PYTHON_RUNFILES",
                                          "RUNFILES_MANIFEST_ONLY"};

// Returns a variable's value; treats an unset variable as empty.
std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsAbsolute(const std::string& path) { return !path.empty() && path[0] == '/'; }

absl::Status CheckSocketPath(const std::string& path, const std::string& variable) {
  if (path.size() <= kSocketPathLimit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(variable, " makes the socket path ", path,
                                                 ", which has ", path.size(), " bytes; at most ",
                                                 kSocketPathLimit, " are possible"));
}

// Sets the runtime directory and the registry's address.
absl::Status SetFromRegistryVariable(const std::string& value, Locations& locations) {
  std::string path;
  if (value.rfind(kIpc, 0) == 0) path = value.substr(kIpc.size());
  if (path.empty() || path.back() == '/') {
    return absl::InvalidArgumentError(
        absl::StrCat("YARD_REGISTRY is ", value, "; it must be ipc://PATH, or gate:FILE"));
  }
  path = AbsolutePath(path);
  locations.registry_address = absl::StrCat(Absl(kIpc), path);
  locations.runtime_directory = std::filesystem::path(path).parent_path().string();
  return CheckSocketPath(path, "YARD_REGISTRY");
}

// Sets the runtime directory; returns the name of the variable that determined it.
std::string SetDefaultRuntimeDirectory(Locations& locations) {
  // The XDG specification says to ignore a relative path.
  if (const std::string xdg = Variable("XDG_RUNTIME_DIR"); IsAbsolute(xdg)) {
    locations.runtime_directory = AbsolutePath(xdg + "/yard");
    return "XDG_RUNTIME_DIR";
  }
  const std::string temporary = Variable("TMPDIR");
  locations.runtime_directory =
      AbsolutePath(absl::StrCat(IsAbsolute(temporary) ? temporary : "/tmp", "/yard-", getuid()));
  return "TMPDIR";
}

absl::Status SetStateDirectory(Locations& locations) {
  if (const std::string state = Variable("YARD_STATE"); !state.empty()) {
    locations.state_directory = AbsolutePath(state);
  } else if (const std::string xdg = Variable("XDG_STATE_HOME"); IsAbsolute(xdg)) {
    locations.state_directory = AbsolutePath(xdg + "/trainyard");
  } else if (const std::string home = Variable("HOME"); IsAbsolute(home)) {
    locations.state_directory = AbsolutePath(home + "/.local/state/trainyard");
  } else {
    return absl::InvalidArgumentError(
        "HOME is not set: say where the state is to be kept with YARD_STATE");
  }
  return absl::OkStatus();
}

// Returns this program's path, without the " (deleted)" that marks a replaced program.
std::string OwnPath() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0) return "";
  return std::string(
      absl::StripSuffix(absl::string_view(path, static_cast<std::size_t>(length)), " (deleted)"));
}

// True if the working directory is inside NAME.runfiles, where NAME is this program's.
bool IsInOwnRunfiles() {
  const auto own = std::filesystem::path(OwnPath()).filename().string() + ".runfiles";
  std::error_code error;
  const auto directory = std::filesystem::current_path(error);
  return !error && std::find(directory.begin(), directory.end(), own) != directory.end();
}

std::vector<std::string> RunfilePlaces(std::string_view path) {
  std::vector<std::string> places;
  for (const char* name : {"RUNFILES_DIR", "TEST_SRCDIR"}) {
    if (const std::string root = Variable(name); !root.empty()) {
      places.push_back(absl::StrCat(root, "/", kWorkspace, "/", Absl(path)));
    }
  }
  places.push_back(absl::StrCat(OwnPath(), ".runfiles/", kWorkspace, "/", Absl(path)));
  return places;
}

bool IsRegularFile(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

absl::StatusOr<std::string> FirstFile(std::vector<std::string> places, const char* what,
                                      std::string_view path) {
  for (const std::string& place : RunfilePlaces(path)) places.push_back(place);
  for (const std::string& place : places) {
    if (IsRegularFile(place)) return AbsolutePath(place);
  }
  return absl::NotFoundError(
      absl::StrCat("no ", what, " ", Absl(path), " in any of: ", absl::StrJoin(places, ", ")));
}

}  // namespace

absl::StatusOr<Locations> Locations::FromEnvironment() {
  Locations locations;
  std::string variable = "YARD_REGISTRY";
  const std::string registry = Variable("YARD_REGISTRY");
  if (registry.size() > kGate.size() && registry.rfind(kGate, 0) == 0) {
    // The yard is elsewhere; local paths keep their defaults.
    variable = SetDefaultRuntimeDirectory(locations);
    locations.registry_address =
        absl::StrCat(Absl(kGate), AbsolutePath(registry.substr(kGate.size())));
  } else if (!registry.empty()) {
    const absl::Status status = SetFromRegistryVariable(registry, locations);
    if (!status.ok()) return status;
  } else {
    variable = SetDefaultRuntimeDirectory(locations);
    locations.registry_address =
        absl::StrCat(Absl(kIpc), locations.runtime_directory, "/", kRegistry);
  }
  absl::Status status =
      CheckSocketPath(absl::StrCat(locations.runtime_directory, "/", kLongestService), variable);
  if (!status.ok()) return status;
  status = SetStateDirectory(locations);
  if (!status.ok()) return status;
  return locations;
}

std::string Locations::LogDirectory() const { return state_directory + "/log"; }

std::string Locations::LockPath(std::string_view service) const {
  return absl::StrCat(runtime_directory, "/", Absl(service), ".lock");
}

std::string Locations::ServiceAddress(std::string_view service) const {
  if (service == kRegistry) return registry_address;
  return absl::StrCat(Absl(kIpc), runtime_directory, "/", Absl(service));
}

absl::Status EnterCallersDirectory() {
  const std::string directory = Variable("BUILD_WORKING_DIRECTORY");
  if (directory.empty() || !IsInOwnRunfiles()) return absl::OkStatus();
  for (const char* name : kSetByBazelRun) unsetenv(name);
  if (chdir(directory.c_str()) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("entering BUILD_WORKING_DIRECTORY ", directory));
}

std::string AbsolutePath(std::string_view path) {
  std::error_code ignored;
  const auto absolute = std::filesystem::absolute(std::filesystem::path(path), ignored);
  std::string text = absolute.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

absl::StatusOr<std::string> FindBinary(std::string_view label_path) {
  const std::filesystem::path beside = std::filesystem::path(OwnPath()).parent_path();
  const std::filesystem::path name = std::filesystem::path(label_path).filename();
  return FirstFile({(beside / name).string(), (beside / "../libexec" / name).string(),
                    (beside / "../bin" / name).string()},
                   "program", label_path);
}

absl::StatusOr<std::string> FindDataFile(std::string_view path) {
  const std::filesystem::path beside = std::filesystem::path(OwnPath()).parent_path();
  return FirstFile({(beside / "../share/yard" / path).string()}, "data file", path);
}

}  // namespace runtime
