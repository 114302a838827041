#ifndef RUNTIME_FILE_LOCATIONS_H_
#define RUNTIME_FILE_LOCATIONS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace runtime {

// Where things are, for every process of a yard. Read once in main(), given to whoever needs it.
struct Locations {
  // Sockets, locks and ready files: $XDG_RUNTIME_DIR/yard, else yard-UID under the temporary
  // directory; the directory part of an ipc:// $YARD_REGISTRY when that is set. 0700.
  std::string runtime_directory;
  // Databases, logs, the `wanted` file: $YARD_STATE, else $XDG_STATE_HOME/trainyard, else
  // ~/.local/state/trainyard. Created 0700.
  std::string state_directory;
  // Address of the registry: $YARD_REGISTRY, else ipc://RUNTIME_DIRECTORY/registry.
  std::string registry_address;

  // From the environment of this process; makes no directory. InvalidArgument names a variable
  // that cannot be used (for example one that makes a socket path longer than 107 bytes).
  static absl::StatusOr<Locations> FromEnvironment();

  std::string LogDirectory() const;                            // STATE/log
  std::string LockPath(std::string_view service) const;        // RUNTIME/SERVICE.lock
  std::string ServiceAddress(std::string_view service) const;  // ipc://RUNTIME/SERVICE
};

// First thing in every main(): under `bazel run`, which begins this program in its own runfiles,
// goes to the directory the caller typed the command in (BUILD_WORKING_DIRECTORY), and removes what
// Bazel has set. Where these variables are left over from another program they mean nothing, and
// stay.
absl::Status EnterCallersDirectory();

// `path` as seen from this process's directory, without "." and "..".
std::string AbsolutePath(std::string_view path);

// Finds another program of this project by its label path ("launcher/yard-shim",
// "tools/yard/yard"): a regular file beside this binary, in ../libexec or ../bin, else in the
// runfiles ($RUNFILES_DIR, $TEST_SRCDIR, EXE.runfiles). NotFound lists the places.
absl::StatusOr<std::string> FindBinary(std::string_view label_path);
// The same for a data file ("bus/schema/envelope.bfbs"); ../share/yard when installed.
absl::StatusOr<std::string> FindDataFile(std::string_view path);

}  // namespace runtime

#endif  // RUNTIME_FILE_LOCATIONS_H_
