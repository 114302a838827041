#ifndef LAUNCHER_RUN_SHIM_SPAWNER_H_
#define LAUNCHER_RUN_SHIM_SPAWNER_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "launcher/wire/shim_packet.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace launcher {

// Starts shims by way of a shim server (shim_server.h): a yard-shim, started with the first shim,
// that forks the others, so that the cost of a start does not depend on the memory and descriptors
// of this process. A server that has died is replaced. The server also offers a spare shim made
// ahead, which gets its attempt directly from here. Not thread-safe.
class ShimSpawner {
 public:
  explicit ShimSpawner(std::string shim_path) : shim_path_(std::move(shim_path)) {}
  ~ShimSpawner() { Close(); }  // The shims continue to run.
  ShimSpawner(const ShimSpawner&) = delete;
  ShimSpawner& operator=(const ShimSpawner&) = delete;

  // A shim's process, which is a child of this process.
  struct Shim {
    pid_t pid = 0;
    runtime::UniqueFd pidfd;
  };
  // Starts a shim for an attempt's folder in a new session, with `control` as its control socket
  // and `log` as its stderr. Blocks until the process exists, at most 10 s. A shim may exist even
  // after an error (the second shim of an attempt exits at once). `locks` are descriptors that the
  // shim and its task keep open as long as they live; FailedPrecondition if there are too many to
  // pass.
  absl::StatusOr<Shim> Start(const std::string& folder, int control, int log,
                             const std::vector<int>& locks = {});

 private:
  struct Spare {
    Shim shim;
    runtime::UniqueFd socket;  // Invalid if there is no spare.
  };

  absl::Status Open();
  void Close();
  absl::StatusOr<Shim> Ask(const std::string& folder, const std::vector<int>& descriptors);
  std::optional<Shim> StartSpare(const std::string& folder, const std::vector<int>& descriptors);
  // Takes a spare if the server has offered one; does not block.
  void TakeOffer();
  void Keep(ShimPacket offer);

  const std::string shim_path_;
  std::optional<runtime::Subprocess> server_;
  runtime::UniqueFd socket_;
  Spare spare_;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_SHIM_SPAWNER_H_
