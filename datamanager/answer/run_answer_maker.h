#ifndef DATAMANAGER_ANSWER_RUN_ANSWER_MAKER_H_
#define DATAMANAGER_ANSWER_RUN_ANSWER_MAKER_H_

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "datamanager/answer/answer.h"
#include "datamanager/catalog/run_source.h"

namespace datamanager {

// Makes an answer from runs and waits for runs that are being read, but gives up after kMostWaits
// waits in a row for one run. A run that it has waited for is looked at with `whole`, so that the
// answer covers all of it.
template <typename Reply>
class RunAnswerMaker : public AnswerMaker<Reply> {
 public:
  bool OnReady(std::function<void()> ready) override {
    if (!waiting_.has_value()) return false;
    waits_ = waiting_->run == last_run_ ? waits_ + 1 : 1;
    last_run_ = waiting_->run;
    if (waits_ > kMostWaits) return false;
    source_->WhenReady(*std::exchange(waiting_, std::nullopt), std::move(ready));
    return true;
  }

 protected:
  explicit RunAnswerMaker(RunSource* source) : source_(source) {}

  RunSource& source() const { return *source_; }
  // As RunSource::Read(); if the run is being read, OnReady() waits for it.
  absl::Status Read(RunSource::Request request, const RunSource::ReadFunction& use) {
    waiting_.reset();
    request.whole |= awaited_.contains(request.run);
    absl::Status read = source_->Read(request, use);
    if (absl::IsUnavailable(read)) {
      request.whole = true;
      awaited_.insert(request.run);
      waiting_ = std::move(request);
    } else {
      last_run_.clear();
    }
    return read;
  }
  // Waits for a request with which the caller has looked itself, in vain.
  void WaitFor(std::optional<RunSource::Request> request) { waiting_ = std::move(request); }

 private:
  // In a row: a run may be given back before anybody has looked at it, but not again and again.
  static constexpr int kMostWaits = 8;

  RunSource* const source_;
  std::string last_run_;  // The run that was waited for and that no look has reached since.
  int waits_ = 0;
  std::set<std::string> awaited_;
  std::optional<RunSource::Request> waiting_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_RUN_ANSWER_MAKER_H_
