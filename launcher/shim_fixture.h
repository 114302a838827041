#ifndef LAUNCHER_SHIM_FIXTURE_H_
#define LAUNCHER_SHIM_FIXTURE_H_

#include <gtest/gtest.h>
#include <sys/types.h>
#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "launcher/process_table.h"
#include "launcher/shim_protocol.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace launcher {

inline constexpr absl::Duration kDeadline = absl::Seconds(20);

// False after the timeout.
bool WaitReadable(int fd, absl::Duration timeout = kDeadline);
sockaddr_un AddressOf(const std::string& path);
// Not valid if nobody listens there.
runtime::UniqueFd ConnectTo(const std::string& path, int type);

// A test with a real yard-shim, whose launcher it is. What is left of the task is killed in the
// end.
class ShimFixture : public ::testing::Test {
 protected:
  ShimFixture();
  ~ShimFixture() override;

  // Starts a shim with spec_ and this program, or this shell script.
  void Start(std::vector<std::string> argv);
  void StartShell(const std::string& script) { Start({"sh", "-c", script}); }
  // Starts a shim on the folder as it is; `control` becomes our end of its socket.
  std::optional<runtime::Subprocess> StartShim(runtime::UniqueFd* control);

  static void Send(const runtime::UniqueFd& control, const ShimRequest& request);
  // The next state; nothing after the deadline, or if the shim is gone.
  static std::optional<ShimState> Receive(const runtime::UniqueFd& control);
  ShimState AwaitPhase(ShimPhase phase);
  // To the end of the shim itself: of one that has told the end of its task, or of any.
  void Acknowledge();
  ShimState Finish();
  // Until the shim has seen its main process end.
  void AwaitEndOfMain();

  std::string Output() const;
  std::string Errors() const;
  // Waits until the task has written `text`.
  void AwaitOutput(const std::string& text);
  // What a launcher knows of the tree once the shim is gone.
  OrphanedTree Orphans(pid_t leader = 0, std::uint64_t start_ticks = 0) const;
  // None of them runs. (Nobody may be there to reap those that have lost their parent.)
  static void ExpectGone(const std::vector<pid_t>& tree);

  const std::string folder_;
  ShimSpec spec_;
  std::optional<runtime::Subprocess> shim_;
  runtime::UniqueFd control_;
};

}  // namespace launcher

#endif  // LAUNCHER_SHIM_FIXTURE_H_
