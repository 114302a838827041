#ifndef TOOLS_YARD_FOLLOW_TRIAL_WORDS_H_
#define TOOLS_YARD_FOLLOW_TRIAL_WORDS_H_

#include <string>
#include <string_view>
#include <unordered_map>

#include "bus/call/client.h"
#include "bus/schema/launcher_generated.h"

namespace yard {

// Replaces jobs by their trials in the launcher's texts, which name jobs, also those of trials:
// "waits for gpu: 1 of 1 is used by t-abcde" (as the trainer says it,
// trainer/attempt/trial_resources.h).
class TrialWords {
 public:
  void Add(const msg::JobT& job);
  std::string Of(std::string_view text) const;

 private:
  struct Trial {
    std::string id;
    bool is_one_task = false;  // The job's one task is the trial.
  };
  std::unordered_map<std::string, Trial> trials_;  // By job.
};

// Knows the trials of all jobs that live; of none if the launcher does not answer. Blocks.
TrialWords WordsOfLiveTrials(bus::Client& client);

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_TRIAL_WORDS_H_
