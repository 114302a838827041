#include "trainer/table/trial_details_reader.h"

#include "trainer/report/result_row.h"
#include "trainer/run/run_provenance.h"
#include "trainer/store/trial_record.h"
#include "trainer/trial/trial_message.h"

namespace trainer {
namespace {

constexpr int kRowsPerRead = 256;

}  // namespace

void TrialDetailsReader::Gather(const std::string& id, Done done) {
  const auto found = options_.table->ById(id);
  if (!found.ok()) return done(found.status());
  Trial* const trial = *found;
  auto statistics = trial->statistics;
  if (statistics == nullptr) statistics = std::make_shared<MetricStatistics>();
  if (!HasEnded(trial->record)) trial->statistics = statistics;
  Finish(id, std::move(statistics), std::move(done));
}

// Adds the missing rows to the statistics. Lets other work run between two parts.
void TrialDetailsReader::Finish(const std::string& id, std::shared_ptr<MetricStatistics> statistics,
                                Done done) {
  const auto number = options_.table->NumberOf(id);
  if (!number.ok()) return done(number.status());
  const auto rows = options_.store->RowsAfter(*number, statistics->rows(), kRowsPerRead);
  if (!rows.ok()) return done(rows.status());
  if (rows->empty()) {
    const auto trial = options_.table->ById(id);
    if (!trial.ok()) return done(trial.status());
    return done(DetailsOf(**trial, *statistics));
  }
  for (const ResultRow& row : *rows) statistics->Add(row);
  options_.loop->Post([this, id, statistics, done, alive = alive_] {
    if (*alive) Finish(id, statistics, done);
  });
}

absl::StatusOr<msg::TrialDetailsReplyT> TrialDetailsReader::DetailsOf(
    const Trial& trial, const MetricStatistics& statistics) const {
  const auto checkpoints = options_.store->Checkpoints(trial.record.number);
  if (!checkpoints.ok()) return checkpoints.status();
  auto details = DetailsMessage(trial.record, options_.view->Whole(trial), statistics, *checkpoints,
                                trial.reports->events().waiting());
  // The record drops the diff once it is in the run's directory.
  if (details.options != nullptr && details.options->provenance_diff.empty()) {
    details.options->provenance_diff = ReadUncommittedDiff(trial.record.spec.run_directory);
  }
  return details;
}

}  // namespace trainer
