#ifndef TRAINER_SWEEP_SWEEP_QUESTIONS_H_
#define TRAINER_SWEEP_SWEEP_QUESTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "runtime/event_loop.h"
#include "trainer/store/sweep_rows.h"
#include "trainer/store/trial_store.h"
#include "tuning/engine/question.h"
#include "tuning/space/config.h"

namespace trainer {

// Answers the questions of sweeps in the background, one at a time for each sweep. A sampler may
// crash the trainer, because of a defect or a lack of memory, so each trainer stores that it begins
// an answer before it does so, and later trainers know how often that has happened. Use it on the
// loop's thread, which it may block for the disk.
class SweepQuestions {
 public:
  // A question whose answer has crashed the trainer this often must not be asked again.
  static constexpr std::int64_t kMostTries = 3;

  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor is the store; both outlive this.
    TrialStore* store = nullptr;
    // See Sweeps::Options.
    std::function<void(std::function<void()> work)> background = {};
    // Called in a later turn of the loop with the answer to a sweep's latest question. Without a
    // `config` nothing is left to try.
    std::function<void(const std::string& sweep, const tuning::Question& question,
                       const std::optional<tuning::Config>& config)>
        answered;
    std::function<void(std::string_view point)> fault = {};  // See Trials::Options.
  };
  explicit SweepQuestions(Options options) : options_(std::move(options)) {}
  ~SweepQuestions() { *alive_ = false; }
  SweepQuestions(const SweepQuestions&) = delete;
  SweepQuestions& operator=(const SweepQuestions&) = delete;

  // Returns true while the sweep's question of that number is being answered.
  bool IsAnswering(const std::string& sweep, std::uint64_t number) const;
  // Returns true if kMostTries trainers have ended while they answered the question.
  bool HasHadItsTries(const SweepRecord& sweep, std::uint64_t number) const;
  // Starts to answer the question and counts the try in `sweep`. On error the try could not be
  // stored, and nothing was started.
  absl::Status Ask(SweepRecord& sweep, tuning::Question question);
  // Call it when the sweep has ended.
  void Drop(const std::string& sweep) { begun_here_.erase(sweep); }

 private:
  absl::Status CountTry(SweepRecord& sweep, std::int64_t number);
  void Take(const std::string& sweep, const tuning::Question& question,
            const std::optional<tuning::Config>& config);

  const Options options_;
  std::map<std::string, std::uint64_t> answering_;  // Numbers of questions, by sweep.
  // The question of each sweep that this trainer has begun to answer.
  std::map<std::string, std::int64_t> begun_here_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace trainer

#endif  // TRAINER_SWEEP_SWEEP_QUESTIONS_H_
