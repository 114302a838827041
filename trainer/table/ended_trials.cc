#include "trainer/table/ended_trials.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "bus/schema/envelope_generated.h"
#include "bus/wire/envelope.h"
#include "bus/wire/frame.h"
#include "bus/wire/receive.h"

namespace trainer {
namespace {

// Encodes the trial as a bus message, which is verified when it is decoded.
bus::Frame Pack(msg::TrialT trial) {
  msg::TrialEventT event;
  event.trial = std::make_unique<msg::TrialT>(std::move(trial));
  msg::EnvelopeT envelope;
  envelope.kind = msg::Kind::Event;
  envelope.body.Set(std::move(event));
  return bus::Encode(envelope);
}

}  // namespace

EndedTrial::EndedTrial(const Facts& facts, const msg::TrialT& message)
    : number_(facts.number),
      reports_(static_cast<std::int64_t>(message.reports)),
      changed_us_(facts.changed_us),
      state_(message.state) {
  msg::TrialT rest = message;
  for (std::string* const kept : {&rest.id, &rest.name, &rest.log_directory, &rest.group}) {
    kept->clear();
  }
  const bus::Frame frame = Pack(std::move(rest));
  std::span<const std::uint8_t> packed = frame.bytes();
  if (packed.size() > EndedTrials::kMaxMessage) packed = {};
  const std::array<std::string_view, kTexts> texts = {facts.request_id, message.id, message.name,
                                                      message.log_directory, message.group};
  ends_[0] = static_cast<std::uint32_t>(packed.size());
  for (std::size_t i = 0; i < kTexts; ++i) {
    ends_[i + 1] = ends_[i] + static_cast<std::uint32_t>(texts[i].size());
  }
  bytes_ = std::make_unique<char[]>(ends_.back());
  std::copy(packed.begin(), packed.end(), bytes_.get());
  for (std::size_t i = 0; i < kTexts; ++i) texts[i].copy(bytes_.get() + ends_[i], texts[i].size());
}

std::optional<msg::TrialT> EndedTrial::Message() const {
  if (ends_[0] == 0) return std::nullopt;
  const auto received = bus::Receive(
      {reinterpret_cast<const std::uint8_t*>(bytes_.get()), ends_[0]}, EndedTrials::kMaxMessage);
  const auto* const event = received.ok() ? (*received)->body_as_TrialEvent() : nullptr;
  if (event == nullptr || event->trial() == nullptr) return std::nullopt;
  msg::TrialT message;
  event->trial()->UnPackTo(&message);
  message.id = id();
  message.name = name();
  message.log_directory = run_directory();
  message.group = group();
  return message;
}

void EndedTrials::Add(const EndedTrial::Facts& facts, const msg::TrialT& message) {
  const EndedTrial& added = trials_.try_emplace(facts.number, facts, message).first->second;
  const std::pair end(facts.changed_us, facts.number);
  by_end_.insert(std::upper_bound(by_end_.begin(), by_end_.end(), end), end);
  ids_.insert(&added);
  requests_.insert(&added);
}

void EndedTrials::Remove(std::int64_t number) {
  const auto found = trials_.find(number);
  if (found == trials_.end()) return;
  const std::pair end(found->second.changed_us(), number);
  by_end_.erase(std::lower_bound(by_end_.begin(), by_end_.end(), end));
  ids_.erase(&found->second);
  requests_.erase(&found->second);
  trials_.erase(found);
}

std::vector<const EndedTrial*> EndedTrials::Latest(std::size_t count) const {
  std::vector<const EndedTrial*> latest;
  for (auto at = by_end_.rbegin(); at != by_end_.rend() && latest.size() < count; ++at) {
    latest.push_back(&trials_.at(at->second));
  }
  return latest;
}

const EndedTrial* EndedTrials::ByNumber(std::int64_t number) const {
  const auto found = trials_.find(number);
  return found == trials_.end() ? nullptr : &found->second;
}

const EndedTrial* EndedTrials::ById(std::string_view id) const {
  const auto found = ids_.find(id);
  return found == ids_.end() ? nullptr : *found;
}

const EndedTrial* EndedTrials::ByRequest(std::string_view request_id) const {
  const auto found = requests_.find(request_id);
  return found == requests_.end() ? nullptr : *found;
}

}  // namespace trainer
