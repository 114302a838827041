#ifndef TOOLS_YARD_FOLLOW_TRIAL_WORDS_H_
#define TOOLS_YARD_FOLLOW_TRIAL_WORDS_H_

#include <string>
#include <string_view>
#include <unordered_map>

#include "bus/call/client.h"
#include "bus/schema/launcher_generated.h"

namespace yard {

// Replaces the ids of jobs by those of their trials in texts of the launcher, which knows only
// jobs: "waits for gpu: 1 of 1 is used by t-abcde" (the trainer does the same,
// trainer/attempt/trial_resources.h).
class TrialWords {
 public:
  // Adds the job's trial, which its label "trial" names. Ignores jobs without one.
  void Add(const msg::JobT& job);
  // Returns `text` with the ids of the added jobs replaced.
  std::string Of(std::string_view text) const;

 private:
  struct Trial {
    std::string id;
    bool is_one_task = false;  // The job's only task is the trial.
  };
  std::unordered_map<std::string, Trial> trials_;  // By job id.
};

// Returns the words for the trials of all live jobs; for none if the launcher does not answer.
// Blocks.
TrialWords WordsOfLiveTrials(bus::Client& client);

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_TRIAL_WORDS_H_
