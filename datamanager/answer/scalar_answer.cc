#include "datamanager/answer/scalar_answer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "datamanager/answer/run_answer_maker.h"
#include "datamanager/answer/scalar_messages.h"
#include "datamanager/answer/series_selection.h"
#include "datamanager/read/run_data.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/scalar_columns.h"

namespace datamanager {
namespace {

using Reply = msg::ReadScalarsReplyT;

struct Question {
  Overlap overlap = Overlap::kRaw;
  std::size_t columns = 0;  // 0: every point.
  bool packed = false;
  bool cached_only = false;
  bool whole = false;
  PointPages::Options points;
};

class ScalarAnswer : public RunAnswerMaker<Reply> {
 public:
  ScalarAnswer(const Question& question, SeriesSelection selection, RunSource* source)
      : RunAnswerMaker(source), question_(question), selection_(std::move(selection)) {}

  absl::StatusOr<Part> Next() override {
    if (!found_) {
      if (absl::Status found = selection_.Find(); !found.ok()) {
        WaitFor(selection_.waiting());
        return found;
      }
      found_ = true;
    }
    Part part;
    part.reply.total_series = selection_.series().size();
    part.reply.undecided_runs = selection_.undecided();
    std::size_t entries = 0;
    while (next_ < selection_.series().size() && entries < kPartEntries &&
           part.reply.series.size() < kPartSeries) {
      const absl::Status added = AddTo(part.reply, entries);
      if (absl::IsUnavailable(added) && !part.reply.series.empty()) return part;
      if (!added.ok()) return added;
    }
    part.last = next_ == selection_.series().size();
    return part;
  }

 private:
  // Adds as much of the next series as fits in one part.
  absl::Status AddTo(Reply& reply, std::size_t& entries) {
    const SeriesSelection::Series& series = selection_.series()[next_];
    auto message = std::make_unique<msg::ScalarsReplyT>();
    bool more = false;
    const absl::Status read = Read({.run = selection_.runs()[series.run],
                                    .need = RunSource::Need::kPoints,
                                    .cached_only = question_.cached_only,
                                    .whole = question_.whole},
                                   [&](const RunSource::View& view) {
                                     message->tag = series.tag;
                                     message->run = view.listed.name;
                                     return Fill(view, message.get(), &more);
                                   });
    if (absl::IsNotFound(read)) {
      // The run was removed since it was selected.
      Finish();
      return absl::OkStatus();
    }
    if (!read.ok()) return read;
    entries += message->steps.size() + 1;
    if (message->packed != nullptr) entries += message->packed->columns;
    reply.series.push_back(std::move(message));
    if (!more) Finish();
    return absl::OkStatus();
  }

  absl::Status Fill(const RunSource::View& view, msg::ScalarsReplyT* message, bool* more) {
    RunData& data = view.data;
    const auto id = data.FindTag(message->tag);
    if (!id.has_value() && pages_.has_value()) {
      return absl::AbortedError("the run was read anew in the middle of a series; ask again");
    }
    if (!id.has_value()) return absl::NotFoundError("the tag has gone");
    message->generation = data.generation();
    message->incomplete = view.incomplete || selection_.FoundInPart(selection_.series()[next_].run);
    message->plugin = std::string(data.tag(*id).plugin());
    message->total_points = data.tag(*id).summary.points;
    const PointPages::Options& points = question_.points;
    const ScalarColumns& series =
        points.by_file_order ? data.tag(*id).points : data.ByStep(*id, question_.overlap);
    message->kept_points = series.size();
    if (question_.columns > 0 && question_.packed) {
      message->packed = PackColumns(series, points.first_step, points.last_step, question_.columns);
      return absl::OkStatus();
    }
    if (question_.columns > 0) {
      AppendColumns(series, points.first_step, points.last_step, question_.columns, message);
      return absl::OkStatus();
    }
    if (!pages_.has_value()) {
      PointPages pages(points);
      // Points that are still being loaded may belong between those of two pages.
      const bool awaits = !data.cached() && !question_.cached_only && !points.by_file_order;
      if (awaits && !pages.FitsOne(series)) {
        return absl::UnavailableError(
            "the run is being read, and a series of it takes more than one part");
      }
      pages_.emplace(std::move(pages));
    }
    const auto next = pages_->Next(series, data.generation(), message);
    if (!next.ok()) return next.status();
    *more = *next;
    return absl::OkStatus();
  }

  void Finish() {
    pages_.reset();
    ++next_;
  }

  const Question question_;
  SeriesSelection selection_;
  bool found_ = false;
  std::size_t next_ = 0;             // Index of the next selected series.
  std::optional<PointPages> pages_;  // Pages of that series, once it was started.
};

}  // namespace

absl::StatusOr<std::unique_ptr<AnswerMaker<Reply>>> MakeScalarAnswer(
    const msg::ReadScalarsRequestT& request, RunSource* source) {
  Question question;
  question.columns = request.columns;
  question.packed = request.packed;
  question.points.by_file_order = request.by_file_order;
  if (const msg::SelectionT* selection = request.selection.get(); selection != nullptr) {
    const auto overlap = OverlapOf(selection->overlap);
    if (!overlap.has_value()) return absl::InvalidArgumentError("an unknown overlap policy");
    question.overlap = *overlap;
    question.cached_only = selection->cached_only;
    question.whole = selection->whole;
    question.points.first_step = selection->first_step;
    question.points.last_step = selection->last_step;
  }
  if (request.by_file_order && (question.overlap != Overlap::kRaw || question.columns > 0)) {
    return absl::InvalidArgumentError(
        "in the order of files there are raw points only: neither columns nor an overlap policy");
  }
  if (request.packed && request.columns == 0) {
    return absl::InvalidArgumentError("only columns are packed: say how many (`columns`)");
  }
  auto selection =
      SeriesSelection::Make(request.selection.get(), SeriesSelection::Kind::kScalars, source);
  if (!selection.ok()) return selection.status();
  return std::make_unique<ScalarAnswer>(question, *std::move(selection), source);
}

}  // namespace datamanager
