#ifndef TRAINER_SWEEP_OPTIMISER_LINES_H_
#define TRAINER_SWEEP_OPTIMISER_LINES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/report/line_receiver.h"

namespace trainer {

// Keeps the lines of external optimisers and of trials apart: both come through one Relay. On the
// loop's thread.
class OptimiserLines : public LineReceiver {
 public:
  // One optimiser's program.
  class Program {
   public:
    virtual ~Program() = default;
    // As an answer of LineReceiver::Receive().
    virtual absl::StatusOr<std::string> TakeLine(const RelayedLine& line) = 0;
  };

  // Not owned; outlives this. Null: there are no trials yet.
  void SetTrials(LineReceiver* trials);
  // `program` is not owned, and is there until Forget().
  void Add(const std::string& nonce, Program* program);
  // Its lines are answered with "stop" from now on.
  void Forget(const std::string& nonce);
  // It has an answer for the line that was held back. Not inside of Receive().
  void Want(const std::string& nonce);

  absl::StatusOr<AttemptKey> Greet(std::string_view nonce) override;
  absl::StatusOr<AttemptKey> Attach(const AttachRequest& request) override;
  void OnConnection(const AttemptKey& attempt, bool is_open) override;
  void OnAlive(const AttemptKey& attempt) override;
  void OnOver(std::function<void(const AttemptKey&, const std::string& why)> over) override;
  std::vector<absl::StatusOr<std::string>> Receive(const std::vector<RelayedLine>& lines) override;
  void OnWanted(std::function<void(const AttemptKey&)> wanted) override;

 private:
  static constexpr std::size_t kGoneKept = 100;

  absl::StatusOr<std::string> TakeLine(const RelayedLine& line);

  LineReceiver* trials_ = nullptr;
  std::function<void(const AttemptKey&)> wanted_;
  std::function<void(const AttemptKey&, const std::string&)> over_;
  // Trials count from 1, so these do from -1 downwards.
  std::int64_t last_ = 0;
  std::map<std::string, AttemptKey, std::less<>> keys_;  // By nonce; those that have gone, too.
  std::map<std::int64_t, Program*> programs_;            // By AttemptKey::trial.
  std::deque<std::string> gone_;                         // Nonces, oldest first.
};

}  // namespace trainer

#endif  // TRAINER_SWEEP_OPTIMISER_LINES_H_
