#ifndef TRAINER_TRIAL_TRIAL_STARTS_H_
#define TRAINER_TRIAL_TRIAL_STARTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "trainer/store/trial_record.h"

namespace trainer {

// Tracks the sources that trials were asked to start from: another trial (`from`) or a directory
// (`restore`). A source must be kept until those trials have started, so code that would remove it
// asks here. The cost does not grow with the number of trials. Use it on the loop's thread.
class TrialStarts {
 public:
  // Adds a trial, unless it has neither source. Resolves a path to its current target.
  void Add(std::int64_t number, const TrialSpec& spec);
  void Remove(std::int64_t number);

  // Selects trials; the first one for which it returns true is returned.
  using Predicate = std::function<bool(std::int64_t number)>;
  // Searches the trials that start from trial `id`.
  std::optional<std::int64_t> FromTrial(const std::string& id, const Predicate& is_meant) const;
  // Searches the trials that restore that directory or a path below it.
  std::optional<std::int64_t> FromDirectory(const std::string& path,
                                            const Predicate& is_meant) const;

 private:
  using ByText = std::set<std::pair<std::string, std::int64_t>>;

  ByText trials_, directories_;
  std::map<std::int64_t, std::pair<ByText*, std::string>> texts_;  // Place of each trial.
};

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_STARTS_H_
