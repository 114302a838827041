#include "trainer/table/trial_annotations.h"

#include "bus/json/annotations.h"
#include "glog/logging.h"
#include "trainer/run/run_annotations.h"
#include "trainer/store/trial_record.h"

namespace trainer {

absl::StatusOr<bool> TrialAnnotations::Change(Trial& trial, const msg::AnnotateRequestT& request) {
  const msg::TrialOptionsT& options = trial.record.spec.options;
  const bus::Annotations before = AnnotationsOf(options);
  auto wanted = bus::Annotated(before, request);
  if (!wanted.ok()) return wanted.status();
  const int priority = request.set_priority ? request.priority : options.priority;
  if (*wanted == before && priority == options.priority) return false;
  msg::TrialOptionsT after;
  CopyAnnotations(options, &after);
  if (*wanted != before) SetAnnotations(*std::move(wanted), &after);
  after.priority = priority;
  if (auto status = Keep(trial, after); !status.ok()) return status;
  return true;
}

// Writes annotations to the store and to the directory; if either fails, keeps neither.
absl::Status TrialAnnotations::Keep(Trial& trial, const msg::TrialOptionsT& after) {
  msg::TrialOptionsT& options = trial.record.spec.options;
  msg::TrialOptionsT before;
  CopyAnnotations(options, &before);
  if (auto status = options_.store->Annotate(trial.record.number, after); !status.ok()) {
    options_.on_store_error();
    return status;
  }
  if (options_.fault) options_.fault("annotated");
  auto written = BringAnnotationsUpToDate(trial.record.spec.run_directory, after);
  if (!written.ok()) {
    const absl::Status undone = options_.store->Annotate(trial.record.number, before);
    if (undone.ok()) return written;
    LOG(ERROR) << "trial " << trial.record.id() << ": " << undone;
  }
  CopyAnnotations(after, &options);
  options_.on_stored();
  return written;
}

}  // namespace trainer
