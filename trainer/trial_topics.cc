#include "trainer/trial_topics.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "bus/call/record_page.h"
#include "bus/wire/topic.h"
#include "trainer/trial/row_events.h"

namespace trainer {
namespace {

constexpr std::size_t kMaxPart = 4096;

msg::Span RowSpan(std::uint64_t row,
                  const std::vector<std::unique_ptr<msg::ResultRowT>>& more_rows) {
  return {0, row - 1, more_rows.empty() ? row : more_rows.back()->row};
}
msg::Span NewsSpan(std::uint64_t reports) { return {0, reports, reports}; }

const msg::Span kSweepNews(0, 0, 0);

// Returns the trial's id; empty if `topic` is not the topic of a trial.
std::string TrialOf(std::string_view topic) {
  const std::string_view root = "t/";
  if (!topic.starts_with(root) || topic.size() < root.size() + 2) return "";
  std::string id = bus::DecodeLevel(topic.substr(root.size(), topic.size() - root.size() - 1));
  return TopicOfTrial(id) == topic ? id : "";
}

struct Wanted {
  std::string topic, trial;
  std::int64_t after = 0;
  Trials::Extent extent;
};

// Returns the requested trials that are known, each once.
std::vector<Wanted> WantedBy(const msg::SinceRequestT& request, const Trials& trials) {
  std::vector<Wanted> all;
  std::set<std::string> seen;
  const std::map<std::string, Trials::Extent> extents = trials.Extents();
  for (const auto& place : request.places) {
    const auto known = extents.find(TrialOf(place->topic));
    if (place->lane != 0 || known == extents.end() || !seen.insert(known->first).second) continue;
    const auto reports = static_cast<std::uint64_t>(known->second.reports);
    const auto after = static_cast<std::int64_t>(std::min(place->position, reports));
    all.push_back({place->topic, known->first, after, known->second});
  }
  return all;
}

void LeaveOutLarge(msg::TrialT& trial) {
  if (trial.last_metrics.size() > kMaxPart) trial.last_metrics.clear();
  std::size_t bytes = 0;
  for (const std::string& word : trial.argv) bytes += word.size() + 1;
  if (bytes > kMaxPart) trial.argv.clear();
}

class Answer {
 public:
  Answer(Trials& trials, std::int64_t since_us) : trials_(trials), since_us_(since_us) {}

  // Adds the rows after the requested place, then the trial's news. Returns false if the page is
  // full.
  absl::StatusOr<bool> Add(const Wanted& wanted) {
    if (wanted.extent.changed_us < since_us_) {
      const auto trial = trials_.Get(wanted.trial);
      if (!trial.ok()) return trial.status();
      if (trial->ended_us != 0) return Begin(wanted, wanted.extent.reports);
    }
    auto more = AddRows(wanted);
    return more.ok() && *more ? AddNews(wanted) : more;
  }

  // Adds the news of a sweep.
  bool Add(const std::string& topic, msg::SweepT sweep) {
    msg::SweepEventT event;
    event.sweep = std::make_unique<msg::SweepT>(std::move(sweep));
    return page_.Add(topic, kSweepNews, std::move(event));
  }

  msg::SinceReplyT Take() {
    msg::SinceReplyT reply = page_.Take();
    // A page without a row returns the same places that it was asked for, so a next page would
    // never end.
    reply.more = reply.more && has_row_;
    return reply;
  }

 private:
  absl::StatusOr<bool> AddRows(const Wanted& wanted) {
    for (std::int64_t after = wanted.after; after < wanted.extent.reports;) {
      auto rows = trials_.RowsAfter(wanted.trial, after);
      if (!rows.ok()) return rows.status();
      if (rows->empty()) break;
      for (const ResultRow& row : *rows) {
        if (row.wall_time_us < since_us_) continue;
        if (row.row - 1 > after && !Begin(wanted, row.row - 1)) return false;
        after = row.row;
        msg::TrialEventT event;
        event.row = std::make_unique<msg::ResultRowT>(RowMessage(row));
        const msg::Span span = RowSpan(event.row->row, {});
        if (!page_.Add(wanted.topic, span, std::move(event))) return false;
        has_row_ = true;
      }
      after = rows->back().row;
    }
    return true;
  }

  // Used only with since_us: marks the rows up to `row` as passed.
  bool Begin(const Wanted& wanted, std::int64_t row) {
    if (row <= wanted.after) return true;
    if (!page_.AddBeginning(wanted.topic, 0, static_cast<std::uint64_t>(row))) return false;
    has_row_ = true;
    return true;
  }

  absl::StatusOr<bool> AddNews(const Wanted& wanted) {
    auto trial = trials_.Get(wanted.trial);
    if (!trial.ok()) return trial.status();
    LeaveOutLarge(*trial);
    msg::TrialEventT event;
    event.trial = std::make_unique<msg::TrialT>(*std::move(trial));
    const msg::Span span = NewsSpan(event.trial->reports);
    return page_.Add(wanted.topic, span, std::move(event));
  }

  Trials& trials_;
  const std::int64_t since_us_;
  bus::SincePage page_;
  bool has_row_ = false;
};

}  // namespace

std::string TopicOfTrial(const std::string& id) { return bus::TopicOf({"t", id}); }

msg::EnvelopeT EnvelopeOf(msg::TrialEventT event) {
  msg::EnvelopeT envelope;
  envelope.span =
      std::make_unique<msg::Span>(event.row != nullptr ? RowSpan(event.row->row, event.more_rows)
                                                       : NewsSpan(event.trial->reports));
  envelope.body.Set(std::move(event));
  return envelope;
}

msg::EnvelopeT EnvelopeOf(msg::SweepEventT event) {
  msg::EnvelopeT envelope;
  envelope.span = std::make_unique<msg::Span>(kSweepNews);
  envelope.body.Set(std::move(event));
  return envelope;
}

msg::EndsReplyT EndsOfTrials(const Trials& trials, const Sweeps& sweeps,
                             const msg::EndsRequestT& request) {
  std::map<std::string, std::int64_t> ends;
  for (const auto& [id, extent] : trials.Extents()) ends[TopicOfTrial(id)] = extent.reports;
  for (const msg::SweepT& sweep : sweeps.List(false)) ends[TopicOfTrial(sweep.id)] = 0;
  bus::EndsPage page(request);
  for (const auto& [topic, reports] : ends) {
    if (!page.Add(topic, 0, static_cast<std::uint64_t>(reports))) break;
  }
  return page.Take();
}

absl::StatusOr<msg::SinceReplyT> TrialsSince(Trials& trials, const Sweeps& sweeps,
                                             const msg::SinceRequestT& request) {
  std::vector<Wanted> all = WantedBy(request, trials);
  const auto at_end = std::stable_partition(all.begin(), all.end(), [](const Wanted& wanted) {
    return wanted.after < wanted.extent.reports;
  });
  std::stable_sort(at_end, all.end(), [](const Wanted& a, const Wanted& b) {
    return a.extent.changed_us > b.extent.changed_us;
  });
  Answer answer(trials, request.since_us);
  for (const Wanted& wanted : all) {
    const auto more = answer.Add(wanted);
    if (!more.ok()) return more.status();
    if (!*more) return answer.Take();
  }
  for (const auto& place : request.places) {
    auto sweep = sweeps.Get(TrialOf(place->topic));
    if (sweep.ok() && !answer.Add(place->topic, *std::move(sweep))) break;
  }
  return answer.Take();
}

}  // namespace trainer
