#include "trainer/ended_trials.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "bus/envelope.h"
#include "bus/frame.h"
#include "bus/receive.h"
#include "bus/schema/envelope_generated.h"

namespace trainer {
namespace {

// As a message, which is verified when it is read.
std::string Pack(const msg::TrialT& trial) {
  msg::TrialEventT event;
  event.trial = std::make_unique<msg::TrialT>(trial);
  msg::EnvelopeT envelope;
  envelope.kind = msg::Kind::Event;
  envelope.body.Set(std::move(event));
  const bus::Frame frame = bus::Encode(envelope);
  const auto bytes = frame.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void EndedTrials::Add(EndedTrial trial, const msg::TrialT& message) {
  trial.message = Pack(message);
  if (trial.message.size() > kMaxMessage) trial.message.clear();
  trial.message.shrink_to_fit();
  const std::int64_t number = trial.number;
  const EndedTrial& added = trials_[number] = std::move(trial);
  ids_[added.id] = &added;
  requests_[added.request_id] = &added;
}

void EndedTrials::Remove(std::int64_t number) {
  const auto found = trials_.find(number);
  if (found == trials_.end()) return;
  ids_.erase(found->second.id);
  requests_.erase(found->second.request_id);
  trials_.erase(found);
}

const EndedTrial* EndedTrials::ByNumber(std::int64_t number) const {
  const auto found = trials_.find(number);
  return found == trials_.end() ? nullptr : &found->second;
}

const EndedTrial* EndedTrials::Find(const Index& index, std::string_view key) {
  const auto found = index.find(key);
  return found == index.end() ? nullptr : found->second;
}

const EndedTrial* EndedTrials::ById(std::string_view id) const { return Find(ids_, id); }

const EndedTrial* EndedTrials::ByRequest(std::string_view request_id) const {
  return Find(requests_, request_id);
}

std::optional<msg::TrialT> EndedTrials::MessageOf(const EndedTrial& trial) {
  if (trial.message.empty()) return std::nullopt;
  const auto received = bus::Receive(
      {reinterpret_cast<const std::uint8_t*>(trial.message.data()), trial.message.size()},
      kMaxMessage);
  const auto* event = received.ok() ? (*received)->body_as_TrialEvent() : nullptr;
  if (event == nullptr || event->trial() == nullptr) return std::nullopt;
  msg::TrialT message;
  event->trial()->UnPackTo(&message);
  return message;
}

}  // namespace trainer
