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

// Knows the sources from which trials were asked to start: `from` another trial, or to `restore` a
// directory. A source stays until those trials have started: code that would remove it asks here,
// which costs no more for many trials. On the loop's thread.
class TrialStarts {
 public:
  // A trial that does neither is not kept. A path is taken for what it leads to now.
  void Add(std::int64_t number, const TrialSpec& spec);
  void Remove(std::int64_t number);

  // The first trial for which it is true.
  using Predicate = std::function<bool(std::int64_t number)>;
  // Searches the trials that start from that trial.
  std::optional<std::int64_t> FromTrial(const std::string& id, const Predicate& is_meant) const;
  // Searches the trials that restore that directory, or a path below it.
  std::optional<std::int64_t> FromDirectory(const std::string& path,
                                            const Predicate& is_meant) const;

 private:
  using ByText = std::set<std::pair<std::string, std::int64_t>>;

  ByText trials_, directories_;
  std::map<std::int64_t, std::pair<ByText*, std::string>> texts_;  // Where each is.
};

}  // namespace trainer

#endif  // TRAINER_TRIAL_TRIAL_STARTS_H_
