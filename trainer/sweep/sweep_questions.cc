#include "trainer/sweep/sweep_questions.h"

namespace trainer {

bool SweepQuestions::IsAnswering(const std::string& sweep, std::uint64_t number) const {
  const auto found = answering_.find(sweep);
  return found != answering_.end() && found->second == number;
}

bool SweepQuestions::HasHadItsTries(const SweepRecord& sweep, std::uint64_t number) const {
  const auto begun = begun_here_.find(sweep.id);
  const auto asked = static_cast<std::int64_t>(number);
  const bool was_begun_here = begun != begun_here_.end() && begun->second == asked;
  return !was_begun_here && sweep.asked == asked && sweep.tries >= kMostTries;
}

absl::Status SweepQuestions::Ask(SweepRecord& sweep, tuning::Question question) {
  if (auto status = CountTry(sweep, static_cast<std::int64_t>(question.number)); !status.ok()) {
    return status;
  }
  answering_[sweep.id] = question.number;
  if (options_.fault) options_.fault("sweep asks");
  auto work = [this, id = sweep.id, loop = options_.loop, alive = alive_,
               asked = std::make_shared<const tuning::Question>(std::move(question))] {
    auto config = asked->Answer();
    loop->Post([this, id, alive, asked, config = std::move(config)] {
      if (*alive) Take(id, *asked, config);
    });
  };
  if (options_.background) {
    options_.background(std::move(work));
  } else {
    work();
  }
  return absl::OkStatus();
}

// Stores the try, once in the life of a trainer.
absl::Status SweepQuestions::CountTry(SweepRecord& sweep, std::int64_t number) {
  const auto begun = begun_here_.find(sweep.id);
  if (begun != begun_here_.end() && begun->second == number) return absl::OkStatus();
  // (Copying the whole record, with the environment of its trials, would cost more than storing
  // it.)
  StoreBatch batch;
  SweepRecord& stored = batch.sweeps.emplace_back();
  stored.number = sweep.number;
  stored.summary = sweep.summary;
  stored.asked = number;
  stored.tries = sweep.asked == number ? sweep.tries + 1 : 1;
  if (auto status = options_.store->Write(batch); !status.ok()) return status;
  sweep.asked = stored.asked;
  sweep.tries = stored.tries;
  begun_here_[sweep.id] = number;
  return absl::OkStatus();
}

void SweepQuestions::Take(const std::string& sweep, const tuning::Question& question,
                          const std::optional<tuning::Config>& config) {
  // (A changed plan may have replaced the question.)
  if (!IsAnswering(sweep, question.number)) return;
  answering_.erase(sweep);
  options_.answered(sweep, question, config);
}

}  // namespace trainer
