#ifndef TRAINER_TABLE_TRIAL_DETAILS_READER_H_
#define TRAINER_TABLE_TRIAL_DETAILS_READER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/event_loop.h"
#include "trainer/report/metric_statistics.h"
#include "trainer/store/trial_store.h"
#include "trainer/table/trial_table.h"
#include "trainer/table/trial_view.h"
#include "trainer/trial/trial.h"

namespace trainer {

// Gathers all details of a trial. Keeps the statistics of a live trial's metrics, so that only new
// rows are read. Use it on the loop's thread, which it blocks for the disk: it reads the rows in
// parts, between which other work runs.
class TrialDetailsReader {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned, nor are the three below; all outlive this.
    TrialStore* store = nullptr;
    TrialTable* table = nullptr;
    const TrialView* view = nullptr;
  };
  using Done = std::function<void(absl::StatusOr<msg::TrialDetailsReplyT>)>;
  explicit TrialDetailsReader(Options options) : options_(std::move(options)) {}
  ~TrialDetailsReader() { *alive_ = false; }
  TrialDetailsReader(const TrialDetailsReader&) = delete;
  TrialDetailsReader& operator=(const TrialDetailsReader&) = delete;

  // See Trials::Details().
  void Gather(const std::string& id, Done done);

 private:
  void Finish(const std::string& id, std::shared_ptr<MetricStatistics> statistics, Done done);
  absl::StatusOr<msg::TrialDetailsReplyT> DetailsOf(const Trial& trial,
                                                    const MetricStatistics& statistics) const;

  const Options options_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace trainer

#endif  // TRAINER_TABLE_TRIAL_DETAILS_READER_H_
