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

// Base of makers that read runs. Waits for runs that are being read, but gives up after kMostWaits
// consecutive waits for one run. Reads a run for which it has waited with `whole`, so that the
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
  // Calls RunSource::Read(); if the run is being read, OnReady() will wait for it.
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
  // Makes OnReady() wait for a request with which the caller itself has called Read() in vain.
  void WaitFor(std::optional<RunSource::Request> request) { waiting_ = std::move(request); }

 private:
  // Consecutive waits: a run may be evicted before it is read, but not again and again.
  static constexpr int kMostWaits = 8;

  RunSource* const source_;
  std::string last_run_;  // The run of the last wait, until it is read.
  int waits_ = 0;
  std::set<std::string> awaited_;
  std::optional<RunSource::Request> waiting_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_RUN_ANSWER_MAKER_H_
