#ifndef TRAINER_FUNCTION_PROGRAM_CHANNEL_H_
#define TRAINER_FUNCTION_PROGRAM_CHANNEL_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/file/unique_fd.h"

namespace trainer {

// A program's end of the report channel (docs/report-channel.md), for a function that runs as a
// program: lines of JSON up and down. One thread; both directions block, in real time. (Programs
// of users link sdk/cc instead, which stands above this folder.)
class ProgramChannel {
 public:
  // Longest line down: an answer with events, or a welcome with its configuration.
  static constexpr std::size_t kMaxAnswer = 4 << 20;  // Bytes.

  // The socket that YARD_FD names ("3:INODE"), if it is that socket still, else the one at the path
  // YARD_SOCKET. FailedPrecondition if neither is there: this process is no task of a yard.
  static absl::StatusOr<ProgramChannel> FromEnvironment();
  // A connected stream socket.
  explicit ProgramChannel(runtime::UniqueFd socket) : socket_(std::move(socket)) {}

  // Sends `line`, which holds no newline, and one newline. Unavailable: the other end is gone.
  absl::Status Send(std::string_view line);
  // Says why the program fails. Nobody answers, and if nobody is there nobody is told.
  void SendFailure(std::string_view error);
  // Waits for a line. Unavailable: the other end is gone; ResourceExhausted: over kMaxAnswer.
  absl::StatusOr<std::string> Receive();

 private:
  runtime::UniqueFd socket_;
  std::string received_;  // Bytes behind the last line.
};

}  // namespace trainer

#endif  // TRAINER_FUNCTION_PROGRAM_CHANNEL_H_
