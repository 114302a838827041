#include "tools/yard/event/event_view.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/json/trial_and_job_json.h"
#include "runtime/mutex.h"
#include "runtime/text/nearest_word.h"
#include "runtime/text/printable.h"
#include "tools/yard/text/table.h"

namespace yard {
namespace {

constexpr auto kReplace = nlohmann::json::error_handler_t::replace;

// Returns the head with a time of sending; null for an event from an owner's record, which may lack
// it.
const msg::Head* SentHead(const msg::Envelope& event) {
  const msg::Head* const head = event.head();
  return head == nullptr || head->sent_us() == 0 ? nullptr : head;
}

// Returns "2026-05-02T12:30:05.000000Z +300us": the time of sending and the latency.
std::string Stamp(const msg::Envelope& event, absl::Time heard, absl::TimeZone zone) {
  const msg::Head* const head = SentHead(event);
  if (head == nullptr) return absl::StrCat(LocalTime(absl::ToUnixMicros(heard), zone), " recorded");
  const absl::Duration way = heard - absl::FromUnixMicros(head->sent_us());
  return absl::StrCat(LocalTime(head->sent_us(), zone), " ", way < absl::ZeroDuration() ? "" : "+",
                      absl::FormatDuration(absl::Trunc(way, absl::Microseconds(1))));
}

// Adds the paths of the members of `value`, such as "trial.state".
void AddPlacesOf(const nlohmann::json& value, const std::string& before,
                 std::vector<std::string>* places) {
  constexpr std::size_t kMost = 200;
  if (value.is_string() && value.get_ref<const std::string&>().starts_with('{')) {
    return AddPlacesOf(bus::MetricsToJson(value.get<std::string>()), before, places);
  }
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items()) {
    if (places->size() == kMost) return;
    places->push_back(before + key);
    AddPlacesOf(member, before + key + ".", places);
  }
}

// Returns a string field's value without quotes, and everything else as JSON.
std::string Shown(const nlohmann::json& value, bool is_field) {
  if (is_field && value.is_string()) return runtime::Printable(value.get<std::string>());
  return runtime::Printable(value.dump(-1, ' ', false, kReplace));
}

// Returns the existing path most similar to one that is missing; empty if none is similar.
std::string MeantBy(const std::string& place, const nlohmann::json& body) {
  std::vector<std::string> places;
  AddPlacesOf(body, "", &places);
  for (const std::string& there : places) {
    if (there.ends_with("." + place)) return there;
  }
  return std::string(runtime::NearestWord(place, {places.begin(), places.end()}));
}

}  // namespace

// Finds paths of a filter that no event has had.
class EventView::Places {
 public:
  Places(const JsonFilter& filter, std::function<void(std::string line)> tell)
      : tell_(std::move(tell)) {
    std::set<std::string> texts;
    filter.AddPlaces(&texts);
    for (const std::string& text : texts) {
      auto place = JsonPath::Parse(text);
      if (place.ok()) missing_.emplace_back(text, *std::move(place));
    }
  }

  void LookAt(const nlohmann::json& body) {
    bool are_enough = false;
    {
      runtime::MutexLock lock(mutex_);
      if (missing_.empty()) return;
      std::erase_if(missing_, [&](const auto& one) { return one.second.IsIn(body); });
      last_ = body;
      are_enough = ++events_ == kEnough;
    }
    if (!are_enough) return;
    for (std::string& line : Take()) tell_(std::move(line));
  }
  // Returns each missing path once.
  std::vector<std::string> Take() {
    std::vector<std::string> lines;
    runtime::MutexLock lock(mutex_);
    for (const auto& [text, place] : missing_) {
      if (events_ == 0) break;
      const std::string meant = MeantBy(text, last_);
      lines.push_back(absl::StrCat("no event has ", runtime::Printable(text),
                                   meant.empty() ? "" : "; did you mean ",
                                   runtime::Printable(meant), meant.empty() ? "" : "?"));
    }
    missing_.clear();
    return lines;
  }

 private:
  static constexpr int kEnough = 10;  // Events to wait for, since not every event has every path.

  const std::function<void(std::string line)> tell_;
  runtime::Mutex mutex_;
  std::vector<std::pair<std::string, JsonPath>> missing_ ABSL_GUARDED_BY(mutex_);
  nlohmann::json last_ ABSL_GUARDED_BY(mutex_);
  int events_ ABSL_GUARDED_BY(mutex_) = 0;
};

std::vector<std::string> EventView::Missing() const {
  return places_ == nullptr ? std::vector<std::string>() : places_->Take();
}

absl::StatusOr<EventView> EventView::Make(const Options& options) {
  EventView view;
  view.json_ = options.json;
  view.for_terminal_ = options.for_terminal;
  view.timestamps_ = options.timestamps;
  view.zone_ = options.zone;
  for (const std::string& topic : options.topics) {
    auto pattern = TopicPattern::Parse(topic);
    if (!pattern.ok()) return pattern.status();
    view.patterns_.push_back(*std::move(pattern));
  }
  for (const std::string& text : options.fields) {
    auto place = JsonPath::Parse(text);
    if (!place.ok()) return place.status();
    view.fields_.push_back({text, *std::move(place)});
  }
  if (!options.filter.empty()) {
    auto filter = JsonFilter::Parse(options.filter);
    if (!filter.ok()) return filter.status();
    view.filter_ = *std::move(filter);
    if (options.on_missing) {
      view.places_ = std::make_shared<Places>(*view.filter_, options.on_missing);
    }
  }
  return view;
}

std::vector<std::string> EventView::Prefixes() const {
  std::vector<std::string> prefixes;
  for (const TopicPattern& pattern : patterns_) prefixes.push_back(pattern.prefix());
  return prefixes;
}

bool EventView::Wants(std::string_view topic) const {
  return std::any_of(patterns_.begin(), patterns_.end(), [&](const TopicPattern& pattern) {
    return pattern.Matches(topic) || pattern.prefix().starts_with(topic);
  });
}

bool EventView::Matches(std::string_view topic) const {
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [&](const TopicPattern& pattern) { return pattern.Matches(topic); });
}

bool EventView::Passes(const MessageJson& messages, std::string_view topic,
                       const msg::Envelope& event) const {
  if (!filter_.has_value()) return Matches(topic);
  return !LinesOf(messages, topic, event, absl::UnixEpoch()).empty();
}

std::vector<std::string> EventView::LinesOf(const MessageJson& messages, std::string_view topic,
                                            const msg::Envelope& event, absl::Time heard) const {
  std::vector<std::string> lines;
  if (!Matches(topic)) return lines;
  nlohmann::json body = messages.ToJson(event);
  if (places_ != nullptr) places_->LookAt(body);
  nlohmann::json more = nlohmann::json::array();
  if (event.body_as_TrialEvent() != nullptr && body.contains("more_rows")) {
    more = std::move(body["more_rows"]);
    body.erase("more_rows");
  }
  const auto add = [&](const nlohmann::json& of) {
    auto line = LineOf(topic, event, heard, of);
    if (line.has_value()) lines.push_back(*std::move(line));
  };
  add(body);
  for (nlohmann::json& row : more) {
    body["row"] = std::move(row);
    add(body);
  }
  return lines;
}

std::optional<std::string> EventView::LineOf(std::string_view topic, const msg::Envelope& event,
                                             absl::Time heard, nlohmann::json body) const {
  if (filter_.has_value() && !filter_->Matches(body)) return std::nullopt;
  if (!fields_.empty()) {
    auto values = FieldsOf(body);
    if (!values.has_value()) return std::nullopt;
    body = *std::move(values);
  }
  return json_ ? Object(topic, event, heard, std::move(body)) : Text(topic, event, heard, body);
}

std::string EventView::Text(std::string_view topic, const msg::Envelope& event, absl::Time heard,
                            const nlohmann::json& body) const {
  const std::string stamp = timestamps_ ? Stamp(event, heard, zone_) + "  " : "";
  if (fields_.size() < 2) {
    const std::string text = Shown(body, /*is_field=*/!fields_.empty());
    return stamp + (fields_.empty() ? absl::StrCat(runtime::Printable(topic), "  ", text) : text);
  }
  std::vector<std::string> texts;
  for (const Field& field : fields_) {
    const nlohmann::json& value = body[field.text];
    texts.push_back(value.is_null() ? "" : Shown(value, true));
  }
  return stamp + absl::StrJoin(texts, "\t");
}

std::optional<nlohmann::json> EventView::FieldsOf(const nlohmann::json& body) const {
  if (fields_.size() == 1) return fields_[0].place.Find(body);
  nlohmann::json values = nlohmann::json::object();
  bool any = false;
  for (const Field& field : fields_) {
    auto value = field.place.Find(body);
    any |= value.has_value();
    values[field.text] = value.has_value() ? *std::move(value) : nlohmann::json();
  }
  if (!any) return std::nullopt;
  return values;
}

std::string EventView::Object(std::string_view topic, const msg::Envelope& event, absl::Time heard,
                              nlohmann::json body) const {
  nlohmann::json line = {{"topic", std::string(topic)}};
  if (const msg::Head* const head = event.head(); head != nullptr) {
    line["seq"] = head->seq();
    line["sent"] = IsoTime(head->sent_us());
    line["source"] = absl::StrCat(absl::Hex(head->source(), absl::kZeroPad16));
  }
  if (timestamps_) line["received"] = IsoTime(absl::ToUnixMicros(heard));
  if (event.body_type() != msg::Body::NONE) line["type"] = msg::EnumNameBody(event.body_type());
  line[fields_.empty() ? "body" : fields_.size() == 1 ? "value" : "values"] = std::move(body);
  return line.dump(-1, ' ', for_terminal_, kReplace);
}

}  // namespace yard
