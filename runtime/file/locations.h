#ifndef RUNTIME_FILE_LOCATIONS_H_
#define RUNTIME_FILE_LOCATIONS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace runtime {

// Paths and addresses that every process of a yard uses. Read once in main() and passed on.
struct Locations {
  // For sockets, locks and ready files: $XDG_RUNTIME_DIR/yard, else yard-UID in the temporary
  // directory; if $YARD_REGISTRY is an ipc:// address, its directory. Mode 0700.
  std::string runtime_directory;
  // For databases, logs and the `wanted` file: $YARD_STATE, else $XDG_STATE_HOME/trainyard, else
  // ~/.local/state/trainyard. Created with mode 0700.
  std::string state_directory;
  // Address of the registry: $YARD_REGISTRY, else ipc://RUNTIME_DIRECTORY/registry.
  std::string registry_address;

  // Reads the environment of this process; creates no directory. InvalidArgument names a variable
  // whose value is unusable (for example one that makes a socket's path longer than 107 bytes).
  static absl::StatusOr<Locations> FromEnvironment();

  std::string LogDirectory() const;                            // STATE/log
  std::string LockPath(std::string_view service) const;        // RUNTIME/SERVICE.lock
  std::string ServiceAddress(std::string_view service) const;  // ipc://RUNTIME/SERVICE
};

// Call it first in every main(). `bazel run` starts a program in its own runfiles; this function
// changes to the directory in which the caller typed the command (BUILD_WORKING_DIRECTORY) and
// removes Bazel's variables. If the variables are left over from another program, it does nothing.
// Errors: those of chdir(), with the directory.
absl::Status EnterCallersDirectory();

// Resolves `path` against this process's directory, without "." and "..".
std::string AbsolutePath(std::string_view path);

// Finds another program of this project by its label path ("launcher/yard-shim",
// "tools/yard/yard"): a regular file beside this binary, in ../libexec or in ../bin, otherwise in
// the runfiles ($RUNFILES_DIR, $TEST_SRCDIR, EXE.runfiles). NotFound lists the places.
absl::StatusOr<std::string> FindBinary(std::string_view label_path);
// Finds a data file ("bus/schema/envelope.bfbs") likewise; ../share/yard in an installation.
absl::StatusOr<std::string> FindDataFile(std::string_view path);

}  // namespace runtime

#endif  // RUNTIME_FILE_LOCATIONS_H_
