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

// The resources that each task of a trial needs (GPUs, slots, or others that the yard was started
// with), and its limits of memory, processor time and so on. Ray Tune's trial runner counts the
// resources of its trials itself, cpu, gpu and custom ones, also in fractions, and enforces none of
// them. Here the launcher alone assigns resources, to trials and to jobs of all kinds, and enforces
// what it can; the trainer asks for them and shows the launcher's answer. Pure functions.

// Checks the request by the launcher's rules when the trial is made. Returns InvalidArgument for a
// request that no machine could meet. (Only the launcher knows what this machine has.)
absl::Status CheckResources(const msg::TrialOptionsT& options);

// Sets the resources and limits of each group of a job whose tasks are set already. If anything is
// requested for a job without groups, its one task becomes a group, because only groups can
// request.
void SetResources(const msg::TrialOptionsT& options, msg::JobSpecT* job);

// Returns when the first task of the job started, in microseconds since 1970; 0 if the time is
// unknown, nullopt while all tasks wait.
std::optional<std::int64_t> StartOf(const msg::JobT& job);

// Returns why a job waits, in the launcher's words but with trials instead of their jobs: "waits
// for gpu: 1 of 1 is used by t-abcde". Empty if the job runs or has ended. `trial_of` returns the
// trial whose current job this is, or null.
std::string WhyJobWaits(const msg::JobT& job,
                        const std::function<const TrialRecord*(const std::string& job)>& trial_of);

// Resources that were requested from the launcher but not granted yet, each with the trial that
// waits.
using AwaitedResources = std::map<std::string, std::string>;

// Returns why the trial does not ask the launcher yet: "waits for gpu behind t-abcde". The launcher
// grants requests in their order, so only one trial at a time requests each resource, the one of
// the highest priority. Empty if nothing holds the trial back.
std::string WhyBehind(const msg::TrialOptionsT& options, const AwaitedResources& awaited);
// Returns the names that a trial waits for: its resources or, if it has a pool, "pool NAME".
std::vector<std::string> AwaitedBy(const msg::TrialOptionsT& options);

// Returns the reason of a failed attempt with a task that was killed for lack of memory; `limit` is
// the limit of each task in bytes.
std::string OutOfMemoryWords(std::uint64_t limit, const std::string& reason);

}  // namespace trainer

#endif  // TRAINER_ATTEMPT_TRIAL_RESOURCES_H_
