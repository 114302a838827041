#ifndef TRAINER_REPORT_LINE_RECEIVER_H_
#define TRAINER_REPORT_LINE_RECEIVER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"

namespace trainer {

// One attempt of a trial.
struct AttemptKey {
  std::int64_t trial = 0;  // TrialRecord::number.
  int attempt = 0;
  bool operator==(const AttemptKey&) const = default;
  bool operator<(const AttemptKey& other) const {
    return std::tie(trial, attempt) < std::tie(other.trial, other.attempt);
  }
};

// A line as the shim numbers it.
struct RelayedLine {
  AttemptKey attempt;
  std::int64_t number = 0;
  std::string text;
  // END: the task has ended and `number` is its last line; `text` is how, of an attached process.
  bool is_end = false;
};

// A process that runs already asks for a trial (docs/report-channel.md).
struct AttachRequest {
  std::string nonce;  // The same again: the same trial.
  std::int64_t pid = 0;
  std::string request;  // A JSON object.
};

// Takes the lines that a Relay brings. On the loop's thread; may block for the disk.
class LineReceiver {
 public:
  virtual ~LineReceiver() = default;
  // The attempt with this nonce. PermissionDenied if no attempt has it (any more).
  virtual absl::StatusOr<AttemptKey> Greet(std::string_view nonce) = 0;
  // The attempt of the trial that an attached process has asked for. InvalidArgument: the request;
  // other errors as for Greet(), and of the disk.
  virtual absl::StatusOr<AttemptKey> Attach(const AttachRequest&) {
    return absl::UnimplementedError("no process can be attached here");
  }
  // The attempt has a connection now, or not any more.
  virtual void OnConnection(const AttemptKey&, bool /*is_open*/) {}
  // The attempt has said that its program lives (runtime::kAlive).
  virtual void OnAlive(const AttemptKey&) {}
  // Sets the function that tells an attempt that its trial has ended, though its process goes on.
  virtual void OnOver(std::function<void(const AttemptKey&, const std::string& why)>) {}
  // Takes lines that arrived together, in their order, in one transaction. An answer for each of
  // them: empty for an acknowledgement without one. With an error the line counts as never
  // received: the connection is refused, and the shim sends it again. Unavailable: it is held back;
  // so are those behind it of the same attempt, and all are brought again, in their order, once
  // the receiver calls for them.
  virtual std::vector<absl::StatusOr<std::string>> Receive(
      const std::vector<RelayedLine>& lines) = 0;
  // Sets the function that is called when the lines of an attempt that were held back are wanted.
  // Never called inside of Receive(), and perhaps when no lines are held back (any more).
  virtual void OnWanted(std::function<void(const AttemptKey&)> wanted) = 0;
};

}  // namespace trainer

#endif  // TRAINER_REPORT_LINE_RECEIVER_H_
