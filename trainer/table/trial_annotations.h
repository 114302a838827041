#ifndef TRAINER_TABLE_TRIAL_ANNOTATIONS_H_
#define TRAINER_TABLE_TRIAL_ANNOTATIONS_H_

#include <functional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/store/trial_store.h"
#include "trainer/trial/trial.h"

namespace trainer {

// Changes a trial's annotations and priority in the store, in its directory and in its record. Use
// it on the loop's thread, which it blocks for the disk.
class TrialAnnotations {
 public:
  struct Options {
    TrialStore* store = nullptr;      // Not owned; outlives this.
    std::function<void()> on_stored;  // A write needs a sync soon.
    std::function<void()> on_store_error;
    std::function<void(std::string_view point)> fault = {};  // See Trials::Options.
  };
  explicit TrialAnnotations(Options options) : options_(std::move(options)) {}

  // Returns true if anything has changed. InvalidArgument if the result would be invalid.
  absl::StatusOr<bool> Change(Trial& trial, const msg::AnnotateRequestT& request);

 private:
  absl::Status Keep(Trial& trial, const msg::TrialOptionsT& after);

  const Options options_;
};

}  // namespace trainer

#endif  // TRAINER_TABLE_TRIAL_ANNOTATIONS_H_
