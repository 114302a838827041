#include "launcher/shim_fixture.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "launcher/cgroup.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"

namespace launcher {
namespace {

using runtime::UniqueFd;

std::string TemporaryFolder() {
  char name[] = "/tmp/yshXXXXXX";
  return mkdtemp(name);
}

}  // namespace

bool WaitReadable(int fd, absl::Duration timeout) {
  pollfd entry = {fd, POLLIN, 0};
  return poll(&entry, 1, static_cast<int>(absl::ToInt64Milliseconds(timeout))) == 1;
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

UniqueFd ConnectTo(const std::string& path, int type) {
  UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  const sockaddr_un address = AddressOf(path);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fd.reset();
  return fd;
}

ShimFixture::ShimFixture() : folder_(TemporaryFolder()) {
  spec_.environment = {"PATH=/usr/bin:/bin", "HOME=/tmp"};
  spec_.working_directory = folder_;
  spec_.stdout_path = folder_ + "/out";
  spec_.stderr_path = folder_ + "/err";
  spec_.control_socket = folder_ + "/ctl";
  spec_.task_socket = folder_ + "/task";
}

ShimFixture::~ShimFixture() {
  if (shim_ && !shim_->Wait(absl::ZeroDuration()).ok()) {
    (void)shim_->Signal(SIGKILL);
    (void)shim_->Wait(kDeadline);
  }
  const OrphanedTree tree = Orphans();
  while (KillOrphanedTree(tree) > 0) {
  }
  for (const auto& path : tree.cgroups) RemoveCgroup(path);
  std::filesystem::remove_all(folder_);
}

void ShimFixture::Start(std::vector<std::string> argv) {
  spec_.argv = std::move(argv);
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/spec", spec_.Encode(), 0600).ok());
  shim_ = StartShim(&control_);
}

std::optional<runtime::Subprocess> ShimFixture::StartShim(UniqueFd* control) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  *control = UniqueFd(ends[0]);
  const UniqueFd its(ends[1]);
  runtime::Subprocess::Options options;
  options.argv = {"yard-shim", folder_, "3"};
  const auto program = runtime::FindBinary("launcher/yard-shim");
  EXPECT_TRUE(program.ok()) << program.status();
  options.program = *program;
  options.fds = {{its.get(), 3}, {2, 2}};
  options.new_session = true;
  auto shim = runtime::Subprocess::Start(options);
  EXPECT_TRUE(shim.ok()) << shim.status();
  return std::move(*shim);
}

void ShimFixture::Send(const UniqueFd& control, const ShimRequest& request) {
  const std::string packet = request.Encode();
  ASSERT_EQ(send(control.get(), packet.data(), packet.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(packet.size()));
}

std::optional<ShimState> ShimFixture::Receive(const UniqueFd& control) {
  char packet[kMaxShimPacket];
  for (;;) {
    if (!WaitReadable(control.get())) return std::nullopt;
    const ssize_t got = recv(control.get(), packet, sizeof packet, 0);
    if (got <= 0) return std::nullopt;
    const std::string_view record(packet, static_cast<std::size_t>(got));
    if (auto state = ShimState::Decode(record)) return state;
    if (!ShimBarrier::Decode(record)) return std::nullopt;
  }
}

ShimState ShimFixture::AwaitPhase(ShimPhase phase) {
  for (;;) {
    const auto state = Receive(control_);
    if (!state) {
      ADD_FAILURE() << "the shim says nothing more";
      return {};
    }
    if (state->phase == phase) return *state;
  }
}

void ShimFixture::Acknowledge() {
  Send(control_, {.kind = ShimRequest::Kind::kAcknowledge});
  const auto status = shim_->Wait(kDeadline);
  EXPECT_TRUE(status.ok() && status->ok()) << status.status();
}

ShimState ShimFixture::Finish() {
  const ShimState state = AwaitPhase(ShimPhase::kExited);
  Acknowledge();
  return state;
}

void ShimFixture::AwaitEndOfMain() {
  const absl::Time deadline = absl::Now() + kDeadline;
  for (;;) {
    Send(control_, {.kind = ShimRequest::Kind::kState});
    const auto state = Receive(control_);
    ASSERT_TRUE(state.has_value());
    if (state->ended_us != 0) return;
    ASSERT_LT(absl::Now(), deadline);
  }
}

std::string ShimFixture::Output() const {
  return runtime::ReadFile(spec_.stdout_path, 64 << 20).value_or("?");
}

std::string ShimFixture::Errors() const {
  return runtime::ReadFile(spec_.stderr_path, 64 << 20).value_or("?");
}

void ShimFixture::AwaitOutput(const std::string& text) {
  const absl::Time deadline = absl::Now() + kDeadline;
  while (!absl::StrContains(Output(), text)) {
    ASSERT_LT(absl::Now(), deadline) << "no " << text << " in " << Output();
    Send(control_, {.kind = ShimRequest::Kind::kWatch});
    ASSERT_TRUE(Receive(control_).has_value());
  }
}

OrphanedTree ShimFixture::Orphans(pid_t leader, std::uint64_t start_ticks) const {
  const auto mark = TreeMark::Decode(runtime::ReadFile(folder_ + "/started", 1 << 20).value_or(""));
  return {.task_socket = spec_.task_socket,
          .leader = leader,
          .start_ticks = start_ticks,
          .session_is_ours = leader != 0,
          .files = mark ? mark->files : std::vector<std::string>(),
          .not_before = mark ? mark->not_before : 0,
          .cgroups = mark ? mark->cgroups : std::vector<std::string>()};
}

void ShimFixture::ExpectGone(const std::vector<pid_t>& tree) {
  for (const pid_t pid : tree) {
    const auto row = ReadProcess(pid);
    EXPECT_TRUE(!row || row->over) << pid;
  }
}

}  // namespace launcher
