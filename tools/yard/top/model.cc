#include "tools/yard/top/model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace yard::top {
namespace {

constexpr std::size_t kMaxFilter = 100;
constexpr std::ptrdiff_t kPage = 10;

std::string NameOf(const TableRow& row) {
  const bool says_more = row.kind != TableRow::Kind::kTask && !row.name.empty();
  return says_more && row.name != row.id ? absl::StrCat(row.id, " ", row.name) : row.id;
}

}  // namespace

void Model::Take(std::shared_ptr<const Facts> facts) {
  facts_ = std::move(facts);
  all_ = RowsOf(*facts_);
  Filter();
}

void Model::Filter() {
  const std::string wanted = absl::AsciiStrToLower(filter_);
  rows_.clear();
  for (const TableRow& row : all_) {
    if (absl::StrContains(row.words, wanted)) rows_.push_back(row);
  }
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const TableRow& row) { return row.id == selected_; });
  if (found != rows_.end()) {
    place_ = static_cast<std::size_t>(found - rows_.begin());
  } else {
    // The selected row is gone: selects the row now in its place.
    place_ = rows_.empty() ? 0 : std::min(place_, rows_.size() - 1);
    if (!rows_.empty()) selected_ = rows_[place_].id;
  }
}

void Model::Move(std::ptrdiff_t by) {
  if (rows_.empty()) return;
  const auto last = static_cast<std::ptrdiff_t>(rows_.size()) - 1;
  place_ = static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(place_) + by, 0, last));
  selected_ = rows_[place_].id;
}

Order Model::Press(const Key& key) {
  message_.clear();
  if (key.kind == Key::Kind::kInterrupt) return {Order::Kind::kInterrupt};
  if (key.kind == Key::Kind::kSuspend) return {Order::Kind::kSuspend};
  if (key.kind == Key::Kind::kRedraw) return {Order::Kind::kRedraw};
  switch (std::exchange(mode_, Mode::kNormal)) {
    case Mode::kNormal:
      return PressNormal(key);
    case Mode::kFilter:
      mode_ = Mode::kFilter;
      PressFilter(key);
      return {};
    case Mode::kConfirm:
      if (key.text == "y" || key.text == "Y") return std::exchange(asked_, {});
      message_ = "nothing is done";
      return {};
    case Mode::kHelp:
      return {};
  }
  return {};
}

Order Model::PressNormal(const Key& key) {
  switch (key.kind) {
    case Key::Kind::kUp:
      Move(-1);
      break;
    case Key::Kind::kDown:
      Move(1);
      break;
    case Key::Kind::kPageUp:
      Move(-kPage);
      break;
    case Key::Kind::kPageDown:
      Move(kPage);
      break;
    case Key::Kind::kHome:
      Move(-static_cast<std::ptrdiff_t>(rows_.size()));
      break;
    case Key::Kind::kEnd:
      Move(static_cast<std::ptrdiff_t>(rows_.size()));
      break;
    case Key::Kind::kEscape:
      filter_.clear();
      Filter();
      break;
    case Key::Kind::kText:
      return PressText(key.text);
    default:
      break;
  }
  return {};
}

Order Model::PressText(const std::string& text) {
  if (text == "q") return {Order::Kind::kQuit};
  if (text == "k") Move(-1);
  if (text == "j") Move(1);
  if (text == "g") Move(-static_cast<std::ptrdiff_t>(rows_.size()));
  if (text == "G") Move(static_cast<std::ptrdiff_t>(rows_.size()));
  if (text == "l") shows_output_ = !shows_output_;
  if (text == "m") NextMetric();
  if (text == "s") Ask(Order::Kind::kStop);
  if (text == "r") Ask(Order::Kind::kRestart);
  if (text == "/") mode_ = Mode::kFilter;
  if (text == "?") mode_ = Mode::kHelp;
  return {};
}

void Model::PressFilter(const Key& key) {
  if (key.kind == Key::Kind::kEnter) {
    mode_ = Mode::kNormal;
  } else if (key.kind == Key::Kind::kEscape) {
    mode_ = Mode::kNormal;
    filter_.clear();
  } else if (key.kind == Key::Kind::kBackspace) {
    // Continuation bytes of UTF-8 begin with the bits 10.
    while (!filter_.empty() && (filter_.back() & 0xC0) == 0x80) filter_.pop_back();
    if (!filter_.empty()) filter_.pop_back();
  } else if (key.kind == Key::Kind::kText && filter_.size() + key.text.size() <= kMaxFilter) {
    filter_ += key.text;
  }
  Filter();
}

void Model::Ask(Order::Kind kind) {
  const TableRow* const row = selected();
  if (row == nullptr) return;
  const bool is_trial = row->kind == TableRow::Kind::kTrial;
  if (kind == Order::Kind::kStop && row->has_ended) {
    return Say(absl::StrCat(NameOf(*row), " has ended"));
  }
  if (kind == Order::Kind::kRestart && !row->subject.trial.empty()) {
    return Say(absl::StrCat(NameOf(*row), is_trial ? " is" : " is of", " a trial: the trainer ",
                            "starts its attempts itself"));
  }
  if (kind == Order::Kind::kStop && !is_trial && !row->subject.trial.empty()) {
    return Say(absl::StrCat(NameOf(*row), " is of a trial: stop ", row->subject.trial));
  }
  const bool is_sweep = row->kind == TableRow::Kind::kSweep;
  if (kind == Order::Kind::kRestart && is_sweep) {
    return Say(absl::StrCat(NameOf(*row), " is a sweep: the trainer starts its trials itself"));
  }
  asked_ = {kind, row->id, is_trial, is_sweep};
  asked_name_ = NameOf(*row);
  mode_ = Mode::kConfirm;
}

std::string Model::Question() const {
  const char* const what = asked_.kind == Order::Kind::kStop ? "stop " : "restart ";
  return absl::StrCat(what, asked_name_, "? y/n");
}

void Model::NextMetric() {
  const TableRow* const row = selected();
  const auto names = row == nullptr ? std::vector<std::string>() : MetricNames(row->metrics);
  if (names.empty()) return Say("no metrics: select a trial that reports");
  const auto now = std::find(names.begin(), names.end(), metric());
  metric_ = now == names.end() || now + 1 == names.end() ? names.front() : now[1];
}

Subject Model::subject() const {
  if (rows_.empty()) return {};
  Subject subject = rows_[place_].subject;
  if (!shows_output_) subject.output_of.clear();
  return subject;
}

std::string Model::metric() const {
  const TableRow* const row = selected();
  if (row == nullptr || row->subject.trial.empty()) return {};
  const auto trial = std::find_if(
      all_.begin(), all_.end(), [&](const TableRow& one) { return one.id == row->subject.trial; });
  return trial == all_.end() ? std::string() : MetricToShow(trial->metrics, metric_);
}

std::vector<double> Model::values() const {
  const TableRow* const row = selected();
  if (row == nullptr || facts_ == nullptr || facts_->trial != row->subject.trial) return {};
  return ValuesOf(facts_->reports, metric());
}

}  // namespace yard::top
