#include "trainer/follow_call.h"

#include <optional>
#include <utility>
#include <vector>

#include "trainer/trial_record.h"

namespace trainer {
namespace {

class FollowCall : public std::enable_shared_from_this<FollowCall> {
 public:
  FollowCall(Trials* trials, runtime::EventLoop* loop, std::string trial, std::uint64_t from_row,
             bool follow, std::shared_ptr<FollowWriter> writer)
      : trials_(trials),
        loop_(loop),
        trial_(std::move(trial)),
        follow_(follow),
        writer_(std::move(writer)),
        row_(static_cast<std::int64_t>(from_row)) {}

  void Start() {
    // The observer keeps the call alive; Leave() ends both.
    observer_ = trials_->Observe(trial_, [self = shared_from_this()] { self->ScheduleSend(); });
    writer_->OnCancel([weak = weak_from_this(), loop = loop_] {
      loop->Post([weak] {
        if (auto self = weak.lock()) self->Leave();
      });
    });
    Send();
  }

 private:
  // Many reports of one turn of the loop go in one part.
  void ScheduleSend() {
    if (std::exchange(scheduled_, true)) return;
    loop_->Post([self = shared_from_this()] {
      self->scheduled_ = false;
      self->Send();
    });
  }

  void Send() {
    const auto keep = shared_from_this();
    while (!left_ && !blocked_) {
      auto rows = trials_->RowsAfter(trial_, row_);
      auto trial = trials_->Get(trial_);
      if (!rows.ok()) return Finish(rows.status());
      if (!trial.ok()) return Finish(trial.status());
      const bool ended = HasEnded(trial->state);
      if (rows->empty() && (ended || !follow_)) return Finish(Part(*trial, {}));
      if (rows->empty() && state_ == trial->state) return;
      if (!SendPart(*trial, *rows)) return;
    }
  }

  // False if it cannot go on for now.
  bool SendPart(const msg::TrialT& trial, const std::vector<ResultRow>& rows) {
    const absl::Status sent = writer_->SendPart(Part(trial, rows));
    if (sent.ok()) {
      state_ = trial.state;
      if (!rows.empty()) row_ = rows.back().row;
      return true;
    }
    if (sent.code() != absl::StatusCode::kResourceExhausted) {
      Leave();
      return false;
    }
    blocked_ = true;
    writer_->WhenWritable([weak = weak_from_this(), loop = loop_] {
      loop->Post([weak] {
        if (auto self = weak.lock()) self->Resume();
      });
    });
    return false;
  }

  void Resume() {
    blocked_ = false;
    Send();
  }

  static msg::FollowTrialReplyT Part(const msg::TrialT& trial, const std::vector<ResultRow>& rows) {
    msg::FollowTrialReplyT part;
    part.trial = std::make_unique<msg::TrialT>(trial);
    // The rows say it already.
    if (!rows.empty()) part.trial->last_metrics.clear();
    for (const ResultRow& row : rows) {
      part.rows.push_back(std::make_unique<msg::ResultRowT>(RowMessage(row)));
    }
    return part;
  }

  void Finish(absl::StatusOr<msg::FollowTrialReplyT> reply) {
    if (left_) return;
    writer_->Finish(std::move(reply));
    Leave();
  }

  void Leave() {
    if (std::exchange(left_, true)) return;
    trials_->Forget(observer_);
  }

  Trials* const trials_;
  runtime::EventLoop* const loop_;
  const std::string trial_;
  const bool follow_;
  const std::shared_ptr<FollowWriter> writer_;
  std::int64_t row_;
  std::optional<msg::TrialState> state_;  // As last sent.
  Trials::ObserverId observer_ = 0;
  bool scheduled_ = false, blocked_ = false, left_ = false;
};

}  // namespace

void StartFollowCall(Trials* trials, runtime::EventLoop* loop, const std::string& trial,
                     std::uint64_t from_row, bool follow, std::shared_ptr<FollowWriter> writer) {
  std::make_shared<FollowCall>(trials, loop, trial, from_row, follow, std::move(writer))->Start();
}

}  // namespace trainer
