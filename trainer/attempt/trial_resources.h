#ifndef TRAINER_ATTEMPT_TRIAL_RESOURCES_H_
#define TRAINER_ATTEMPT_TRIAL_RESOURCES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "bus/schema/launcher_generated.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/store/trial_record.h"

namespace trainer {

// The resources that each task of a trial needs for itself (GPUs, slots, whatever the yard was
// started with) and how much memory, time of the processors and so on it may use. Ray Tune's trial
// runner counts the resources of its trials itself, cpu, gpu and custom ones, also in fractions,
// and nothing holds a trial to them. Here the launcher alone gives them out, to trials and to jobs
// of all kinds, and limits what it can; the trainer asks, and tells what the launcher says. Pure
// functions.

// InvalidArgument says what is asked for that cannot be, whatever the machine has, by the
// launcher's rules, so that it is known when the trial is made. (The launcher knows what the
// machine has.)
absl::Status CheckResources(const msg::TrialOptionsT& options);

// To each group of a job that has its tasks already. A job of one task without groups becomes one
// of a group, if anything is asked for: only groups can ask.
void SetResources(const msg::TrialOptionsT& options, msg::JobSpecT* job);

// When the first task of the job was started, in microseconds since 1970: 0 if that is not known.
// Nothing while all of them wait.
std::optional<std::int64_t> StartOf(const msg::JobT& job);

// The launcher's reason why a job waits, with trials in place of their jobs: "waits for gpu: 1 of 1
// is used by t-abcde". Empty for one that runs or has ended. `trial_of` finds the trial that has
// this job now, else null.
std::string WhyJobWaits(const msg::JobT& job,
                        const std::function<const TrialRecord*(const std::string& job)>& trial_of);

// Resources that the launcher was asked for and has not given yet, each with the trial that waits.
using AwaitedResources = std::map<std::string, std::string>;

// Why the launcher is not asked yet: "waits for gpu behind t-abcde". It gives in the order in which
// it is asked, so of each resource one trial at a time asks, that of the highest priority. Empty:
// nothing holds it back.
std::string WhyBehind(const msg::TrialOptionsT& options, const AwaitedResources& awaited);
// The names under which a trial waits: those of its resources; of a trial with a pool, "pool NAME".
std::vector<std::string> AwaitedBy(const msg::TrialOptionsT& options);

// Why an attempt has failed of which a task was killed because memory was short, each task having
// `limit` bytes at most.
std::string OutOfMemoryWords(std::uint64_t limit, const std::string& reason);

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_TRIAL_RESOURCES_H_
