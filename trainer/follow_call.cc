#include "trainer/follow_call.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/store/trial_record.h"
#include "trainer/trial/row_events.h"

namespace trainer {
namespace {

// Cap of the start row: a caller that wants no rows asks for those after the greatest number, to
// which 1 is added later.
constexpr std::uint64_t kLastRow = std::uint64_t{1} << 62;

class FollowCall : public std::enable_shared_from_this<FollowCall> {
 public:
  FollowCall(Trials* trials, runtime::EventLoop* loop, std::string trial, std::uint64_t from_row,
             bool follow, std::shared_ptr<bus::ReplyStream<msg::FollowTrialReplyT>> writer)
      : trials_(trials),
        loop_(loop),
        trial_(std::move(trial)),
        follow_(follow),
        writer_(std::move(writer)),
        row_(static_cast<std::int64_t>(std::min(from_row, kLastRow))) {}

  void Start() {
    // The observer keeps the call alive; Leave() ends both.
    observer_ = trials_->Observe(trial_, [self = shared_from_this()](const ResultRow* row) {
      if (row != nullptr) self->Note(*row);
      self->ScheduleSend();
    });
    writer_->OnCancel([weak = weak_from_this(), loop = loop_] {
      loop->Post([weak] {
        if (auto self = weak.lock()) self->Leave();
      });
    });
    Send();
  }

 private:
  static constexpr std::size_t kMaxFreshBytes = 256 << 10;

  // Keeps a new row in memory, which saves reading it from the store, where it would first have to
  // be inserted. Keeps rows only while no earlier row is missing and their bytes are few enough.
  void Note(const ResultRow& row) {
    if (!has_all_before_ || row.row < NextRow()) return;
    has_all_before_ = row.row == NextRow() && fresh_bytes_ < kMaxFreshBytes;
    if (!has_all_before_) return;
    fresh_.push_back(row);
    fresh_bytes_ += row.metrics.size();
  }
  std::int64_t NextRow() const { return row_ + static_cast<std::int64_t>(fresh_.size()) + 1; }

  // Returns the rows after the last one that was sent.
  absl::StatusOr<std::vector<ResultRow>> TakeRows() {
    fresh_bytes_ = 0;
    std::vector<ResultRow> fresh = std::exchange(fresh_, {});
    if (has_all_before_) return fresh;
    auto rows = trials_->RowsAfter(trial_, row_);
    has_all_before_ = rows.ok() && rows->empty();
    return rows;
  }

  // Sends at most one part in each turn of the loop, with all reports of that turn.
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
      auto rows = TakeRows();
      auto trial = trials_->Get(trial_);
      if (!rows.ok()) return Finish(rows.status());
      if (!trial.ok()) return Finish(trial.status());
      const bool ended = HasEnded(trial->state);
      if (rows->empty() && (ended || !follow_)) return Finish(Part(*trial, {}));
      if (rows->empty() && state_ == trial->state && reason_ == trial->reason) return;
      if (!SendPart(*trial, *rows)) return;
    }
  }

  // Returns false if sending cannot continue for now.
  bool SendPart(const msg::TrialT& trial, const std::vector<ResultRow>& rows) {
    const absl::Status sent = writer_->SendPart(Part(trial, rows));
    if (sent.ok()) {
      state_ = trial.state;
      reason_ = trial.reason;
      if (!rows.empty()) row_ = rows.back().row;
      return true;
    }
    if (sent.code() != absl::StatusCode::kResourceExhausted) {
      Leave();
      return false;
    }
    blocked_ = true;
    has_all_before_ = false;
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
    // The rows carry the metrics already.
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
  const std::shared_ptr<bus::ReplyStream<msg::FollowTrialReplyT>> writer_;
  std::int64_t row_;                      // Number of the last row that was sent.
  bool has_all_before_ = false;           // True if fresh_ holds all rows after row_.
  std::vector<ResultRow> fresh_;          // Rows not sent yet.
  std::size_t fresh_bytes_ = 0;           // Bytes of the metrics in fresh_.
  std::optional<msg::TrialState> state_;  // State in the last part sent; reason_ likewise.
  std::string reason_;
  Trials::ObserverId observer_ = 0;
  bool scheduled_ = false, blocked_ = false, left_ = false;
};

}  // namespace

void StartFollowCall(Trials* trials, runtime::EventLoop* loop, const std::string& trial,
                     std::uint64_t from_row, bool follow,
                     std::shared_ptr<bus::ReplyStream<msg::FollowTrialReplyT>> writer) {
  std::make_shared<FollowCall>(trials, loop, trial, from_row, follow, std::move(writer))->Start();
}

}  // namespace trainer
