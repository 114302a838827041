#include "trainer/function/program_channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/text/json_value.h"

namespace trainer {
namespace {

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A parent process may have closed the descriptor and reused its number for another file, so the
// inode is compared. Returns -1 if it is not that socket.
int InheritedSocket(const std::string& spec) {
  const std::vector<std::string> parts = absl::StrSplit(spec, ':');
  int fd = -1;
  std::uint64_t inode = 0;
  struct stat about {};
  const bool is_that = parts.size() == 2 && absl::SimpleAtoi(parts[0], &fd) && fd >= 0 &&
                       absl::SimpleAtoi(parts[1], &inode) && fstat(fd, &about) == 0 &&
                       S_ISSOCK(about.st_mode) && about.st_ino == inode;
  return is_that ? fd : -1;
}

absl::StatusOr<runtime::UniqueFd> ConnectTo(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(
        absl::StrCat("the path of the report channel is too long: ", path));
  }
  path.copy(address.sun_path, path.size());
  runtime::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, "making a socket");
  while (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EINTR) continue;
    return absl::UnavailableError(
        absl::StrCat("cannot reach the report channel at ", path, ": ", strerror(errno)));
  }
  return fd;
}

absl::Status Gone(int error) {
  return absl::UnavailableError(absl::StrCat("the report channel is closed", error == 0 ? "" : ": ",
                                             error == 0 ? "" : strerror(error)));
}

}  // namespace

absl::StatusOr<ProgramChannel> ProgramChannel::FromEnvironment() {
  if (const int fd = InheritedSocket(Variable("YARD_FD")); fd >= 0) {
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return ProgramChannel(runtime::UniqueFd(fd));
  }
  const std::string path = Variable("YARD_SOCKET");
  if (path.empty()) {
    return absl::FailedPreconditionError(
        "there is no report channel here (neither YARD_FD nor YARD_SOCKET leads to one): functions "
        "are started by the yard; yard run --function NAME");
  }
  auto socket = ConnectTo(path);
  if (!socket.ok()) return socket.status();
  return ProgramChannel(*std::move(socket));
}

absl::Status ProgramChannel::Send(std::string_view line) {
  std::string bytes(line);
  bytes += '\n';
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count =
        send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      return Gone(errno);
    }
  }
  return absl::OkStatus();
}

void ProgramChannel::SendFailure(std::string_view error) {
  Send(absl::StrCat(R"({"t":"fail","error":)", runtime::Quote(error), "}")).IgnoreError();
}

absl::StatusOr<std::string> ProgramChannel::Receive() {
  constexpr std::size_t kRead = 64 << 10;
  std::size_t searched = 0;
  for (;;) {
    const std::size_t newline = received_.find('\n', searched);
    if (newline != received_.npos) {
      std::string line = received_.substr(0, newline);
      received_.erase(0, newline + 1);
      return line;
    }
    searched = received_.size();
    if (searched > kMaxAnswer) {
      return absl::ResourceExhaustedError(
          absl::StrCat("an answer of more than ", kMaxAnswer, " bytes"));
    }
    received_.resize(searched + kRead);
    const ssize_t count = recv(socket_.get(), received_.data() + searched, kRead, 0);
    received_.resize(searched + (count > 0 ? static_cast<std::size_t>(count) : 0));
    if (count == 0) return Gone(0);
    if (count < 0 && errno != EINTR) return Gone(errno);
  }
}

}  // namespace trainer
