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
// program: lines of JSON in both directions. Use it on one thread; both directions block, in real
// time. (Users' own programs link sdk/cc instead, which is a layer above this folder.)
class ProgramChannel {
 public:
  // Longest line from the trainer: an answer with events, or a welcome with its configuration.
  static constexpr std::size_t kMaxAnswer = 4 << 20;  // Bytes.

  // Opens the socket that YARD_FD names ("3:INODE"), if that descriptor still is that socket, or
  // else the one at the path YARD_SOCKET. FailedPrecondition if neither exists: this process is not
  // a task of a yard.
  static absl::StatusOr<ProgramChannel> FromEnvironment();
  // `socket` is a connected stream socket.
  explicit ProgramChannel(runtime::UniqueFd socket) : socket_(std::move(socket)) {}

  // Sends `line`, which must not contain a newline, and a newline. Unavailable: the other end is
  // closed.
  absl::Status Send(std::string_view line);
  // Reports why the program fails, without waiting for an answer; ignores a closed channel.
  void SendFailure(std::string_view error);
  // Waits for a line. Unavailable: the other end is closed; ResourceExhausted: over kMaxAnswer.
  absl::StatusOr<std::string> Receive();

 private:
  runtime::UniqueFd socket_;
  std::string received_;  // Bytes after the last line.
};

}  // namespace trainer

#endif  // TRAINER_FUNCTION_PROGRAM_CHANNEL_H_
