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

// Separates the lines of external optimisers from those of trials: both arrive through one Relay.
// Use it on the loop's thread.
class OptimiserLines : public LineReceiver {
 public:
  // Takes a line of one optimiser's program; returns its answer, as LineReceiver::Receive() does.
  using TakeProgramLine = std::function<absl::StatusOr<std::string>(const RelayedLine& line)>;

  // `trials` is not owned and outlives this. Null while there are no trials.
  void SetTrials(LineReceiver* trials);
  // Registers the nonce of a program: `take` receives its lines until Forget().
  void Add(const std::string& nonce, TakeProgramLine take);
  // From now on the program's lines are answered with "stop". `take` itself may call Forget().
  void Forget(const std::string& nonce);
  // Call it when there is an answer for the held-back line, but not from inside Receive().
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
  // Trials have positive numbers, so optimisers get -1, -2 and so on.
  std::int64_t last_ = 0;
  std::map<std::string, AttemptKey, std::less<>> keys_;  // By nonce; includes forgotten programs.
  std::map<std::int64_t, TakeProgramLine> programs_;     // By AttemptKey::trial.
  std::deque<std::string> gone_;                         // Forgotten nonces, oldest first.
};

}  // namespace trainer

#endif  // TRAINER_SWEEP_OPTIMISER_LINES_H_
