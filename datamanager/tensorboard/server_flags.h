#ifndef DATAMANAGER_TENSORBOARD_SERVER_FLAGS_H_
#define DATAMANAGER_TENSORBOARD_SERVER_FLAGS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/tensorboard/provider.h"

namespace datamanager::tensorboard {

// The command line of the data server, as TensorBoard writes it (server_ingester.py). Flag names
// have hyphens, so Abseil does not parse them; names with underscores are also accepted.
struct ServerFlags {
  std::string logdir;
  std::string host = "localhost";
  int port = 6806;         // 0: any free port.
  std::string port_file;   // Empty: not written.
  std::string error_file;  // Empty: stderr.
  bool die_after_stdin = false;
  int verbose = 0;
  // How often to scan directories that inotify cannot watch; zero: once, without following changes.
  absl::Duration reload = absl::Seconds(5);
  SampleCounts samples;

  // The following flags are this server's own; users set them by --extra_data_server_flags.
  Overlap overlap = Overlap::kLastWrite;
  std::uint64_t cache_mb = 0;  // 0: a quarter of the memory that the process may use.
  // Number of inherited listening sockets, from descriptor 3 on: this process then is the server
  // behind the process that holds them. 0: none.
  int inherited_sockets = 0;
};

// Parses the words after the program's name. InvalidArgument names the flag.
absl::StatusOr<ServerFlags> ParseServerFlags(std::span<const std::string> words);

// Returns the text of --help.
std::string_view ServerUsage();

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_SERVER_FLAGS_H_
