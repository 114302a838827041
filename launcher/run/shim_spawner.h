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

// Starts shims: has one yard-shim, started with the first, make the others (shim_server.h), so that
// a start costs the same however large this process is and however many descriptors it has. When
// that one is gone, another takes its place. A shim that was made ahead is told its attempt here,
// without a way round by that one. One thread.
class ShimSpawner {
 public:
  explicit ShimSpawner(std::string shim_path) : shim_path_(std::move(shim_path)) {}
  ~ShimSpawner() { Close(); }  // The shims go on.
  ShimSpawner(const ShimSpawner&) = delete;
  ShimSpawner& operator=(const ShimSpawner&) = delete;

  // A child of this process.
  struct Shim {
    pid_t pid = 0;
    runtime::UniqueFd pidfd;
  };
  // A shim for an attempt's folder, with its control socket and its stderr, in a session of its
  // own. Waits for it to be made, at most 10 s. After an error there may be one all the same (an
  // attempt's second shim leaves at once). `locks`: descriptors that the shim and its task keep as
  // long as they live; FailedPrecondition if there are too many to pass.
  absl::StatusOr<Shim> Start(const std::string& folder, int control, int log,
                             const std::vector<int>& locks = {});

 private:
  struct Spare {
    Shim shim;
    runtime::UniqueFd socket;  // Not valid: no spare.
  };

  absl::Status Open();
  void Close();
  absl::StatusOr<Shim> Ask(const std::string& folder, const std::vector<int>& descriptors);
  std::optional<Shim> StartSpare(const std::string& folder, const std::vector<int>& descriptors);
  // Looks whether a spare is offered; does not wait.
  void TakeOffer();
  void Keep(ShimPacket offer);

  const std::string shim_path_;
  std::optional<runtime::Subprocess> server_;
  runtime::UniqueFd socket_;
  Spare spare_;
};

}  // namespace launcher

#endif  // LAUNCHER_RUN_SHIM_SPAWNER_H_
