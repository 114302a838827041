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

// A line with the number that the shim gave it.
struct RelayedLine {
  AttemptKey attempt;
  std::int64_t number = 0;
  std::string text;
  // True for END: the task has ended after line `number`; `text` says how, if the process is
  // attached.
  bool is_end = false;
};

// A running process requests a trial for itself (docs/report-channel.md).
struct AttachRequest {
  std::string nonce;  // The same nonce gets the same trial.
  std::int64_t pid = 0;
  std::string request;  // A JSON object.
};

// Receives the lines of a Relay. Called on the loop's thread; may block for the disk.
class LineReceiver {
 public:
  virtual ~LineReceiver() = default;
  // Returns the attempt with this nonce. PermissionDenied if no attempt has it, or has it any more.
  virtual absl::StatusOr<AttemptKey> Greet(std::string_view nonce) = 0;
  // Returns the attempt of the trial that an attached process requests. InvalidArgument if the
  // request is invalid; other errors as for Greet(), and errors of the disk.
  virtual absl::StatusOr<AttemptKey> Attach(const AttachRequest&) {
    return absl::UnimplementedError("no process can be attached here");
  }
  // The attempt's connection was opened or closed.
  virtual void OnConnection(const AttemptKey&, bool /*is_open*/) {}
  // The attempt has reported that its program is alive (runtime::kAlive).
  virtual void OnAlive(const AttemptKey&) {}
  // Sets the function that tells an attempt that its trial has ended although its process
  // continues.
  virtual void OnOver(std::function<void(const AttemptKey&, const std::string& why)>) {}
  // Takes lines that arrived together, in order, in one transaction. Returns one answer for each
  // line; an empty one is a plain acknowledgement. Unavailable means that the line is held back, as
  // are all later lines of its attempt; once the receiver asks for them, they are delivered again
  // in order. After any other error the line counts as not received: the connection is refused, and
  // the shim sends the line again.
  virtual std::vector<absl::StatusOr<std::string>> Receive(
      const std::vector<RelayedLine>& lines) = 0;
  // Sets the function that is called when the held-back lines of an attempt are wanted. It is never
  // called inside Receive(), but may be called when no lines are held back.
  virtual void OnWanted(std::function<void(const AttemptKey&)> wanted) = 0;
};

}  // namespace trainer

#endif  // TRAINER_REPORT_LINE_RECEIVER_H_
