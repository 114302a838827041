#include "trainer/function/training_progress.h"

#include <limits>
#include <utility>

namespace trainer {
namespace {

constexpr double kLongestIteration = 1e9;  // Seconds; a longer one is ignored.

std::int64_t Sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

std::optional<std::int64_t> Count(const NamedValues& reported, std::string_view name) {
  const Value* const value = reported.Find(name);
  return value == nullptr ? std::nullopt : value->AsInteger();
}

void AddTo(std::optional<std::int64_t>& total, std::optional<std::int64_t> count) {
  if (count) total = Sum(total.value_or(0), *count);
}

bool IsTrue(const NamedValues& reported, std::string_view name) {
  const Value* const value = reported.Find(name);
  return value != nullptr && value->AsNumber().value_or(0) != 0;
}

Value OrNull(std::optional<std::int64_t> number) { return number ? Value(*number) : Value(); }

}  // namespace

NamedValues Result::All() const {
  NamedValues all = reported;
  const auto fill = [&](std::string_view name, Value value) {
    if (!reported.Has(name)) all.Set(name, std::move(value));
  };
  fill("done", done);
  if (duplicate) all.Set("done", true);
  fill("training_iteration", training_iteration);
  fill("time_this_iter_s", absl::ToDoubleSeconds(time_this_iter));
  fill("time_total_s", absl::ToDoubleSeconds(time_total));
  fill("timesteps_total", OrNull(timesteps_total));
  fill("episodes_total", OrNull(episodes_total));
  const Value* const loss = reported.Find("mean_loss");
  if (const auto number = loss == nullptr ? std::nullopt : loss->AsNumber()) {
    fill("neg_mean_loss", -*number);
  }
  fill("iterations_since_restore", iterations_since_restore);
  fill("timesteps_since_restore", timesteps_since_restore);
  fill("time_since_restore", absl::ToDoubleSeconds(time_since_restore));
  fill("timestamp", absl::ToUnixSeconds(time));
  fill("date", absl::FormatTime("%Y-%m-%d_%H-%M-%S", time, absl::LocalTimeZone()));
  if (source != nullptr) {
    fill("hostname", source->hostname);
    fill("pid", source->pid);
    fill("trial_id", source->trial_id);
    fill("experiment_id", source->experiment_id);
  }
  return all;
}

Value Result::Get(std::string_view name) const {
  const NamedValues all = All();
  const Value* const value = all.Find(name);
  return value == nullptr ? Value() : *value;
}

TrainingProgress::TrainingProgress(ResultSource source)
    : source_(std::make_shared<const ResultSource>(std::move(source))) {}

Result TrainingProgress::Count(NamedValues reported, absl::Duration measured, absl::Time now) {
  Result result;
  const Value* const said = reported.Find("time_this_iter_s");
  const double seconds = said == nullptr ? -1 : said->AsNumber().value_or(-1);
  const bool believed = seconds >= 0 && seconds < kLongestIteration;
  result.time_this_iter = believed ? absl::Seconds(seconds) : measured;
  result.time_total = time_total_ += result.time_this_iter;
  result.time_since_restore = time_since_restore_ += result.time_this_iter;
  result.training_iteration = iteration_ = Sum(iteration_, 1);
  result.iterations_since_restore = ++iterations_since_restore_;
  const auto timesteps = trainer::Count(reported, "timesteps_this_iter");
  AddTo(timesteps_total_, timesteps);
  AddTo(episodes_total_, trainer::Count(reported, "episodes_this_iter"));
  timesteps_since_restore_ = Sum(timesteps_since_restore_, timesteps.value_or(0));
  result.timesteps_total = timesteps_total_;
  result.episodes_total = episodes_total_;
  result.timesteps_since_restore = timesteps_since_restore_;
  result.done = IsTrue(reported, "done");
  result.time = now;
  result.source = source_;
  result.reported = std::move(reported);
  return result;
}

Result TrainingProgress::Duplicate(const std::optional<Result>& last, absl::Time now) const {
  Result result = last.value_or(Result());
  if (!last) {
    result.training_iteration = iteration_;
    result.time_total = time_total_;
    result.timesteps_total = timesteps_total_;
    result.episodes_total = episodes_total_;
    result.time = now;
    result.source = source_;
  }
  result.done = true;
  result.duplicate = true;
  return result;
}

CheckpointMetadata TrainingProgress::Metadata() const {
  CheckpointMetadata metadata;
  metadata.experiment_id = source_->experiment_id;
  metadata.iteration = iteration_;
  metadata.timesteps_total = timesteps_total_;
  metadata.episodes_total = episodes_total_;
  metadata.time_total_us = absl::ToInt64Microseconds(time_total_);
  return metadata;
}

void TrainingProgress::Restore(const CheckpointMetadata& metadata) {
  ResultSource source = *source_;
  source.experiment_id = metadata.experiment_id;
  source_ = std::make_shared<const ResultSource>(std::move(source));
  iteration_ = metadata.iteration;
  timesteps_total_ = metadata.timesteps_total;
  episodes_total_ = metadata.episodes_total;
  time_total_ = absl::Microseconds(metadata.time_total_us);
  iterations_since_restore_ = 0;
  timesteps_since_restore_ = 0;
  time_since_restore_ = absl::ZeroDuration();
}

}  // namespace trainer
