#ifndef TRAINER_TABLE_TRIAL_NAMES_H_
#define TRAINER_TABLE_TRIAL_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace trainer {

// Finds the trial that somebody means by a name: that of a run (the live one's, else the newest
// one's), else an unambiguous prefix of an id. One is made for each question; every trial is shown
// to it. Not thread safe.
class TrialNameSearch {
 public:
  // `name` outlives it.
  explicit TrialNameSearch(std::string_view name) : name_(name) {}

  // `number` is larger for newer trials.
  void LookAt(bool lives, std::int64_t number, std::string_view id, std::string_view its_name);
  // Its id. NotFound; FailedPrecondition lists the first of those that an ambiguous prefix stands
  // for.
  absl::StatusOr<std::string> Found() const;

 private:
  const std::string_view name_;
  std::string named_;                                          // Id of the best with the name.
  std::pair<bool, std::int64_t> best_ = {false, 0};            // Whether it lives, its number.
  std::vector<std::pair<std::string, std::string>> prefixed_;  // Id, name; the first ones.
  std::size_t prefixed_count_ = 0;                             // Of all.
};

}  // namespace trainer

#endif  // TRAINER_TABLE_TRIAL_NAMES_H_
