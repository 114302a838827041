#include "launcher/node/node_link.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/text/printable.h"

namespace launcher {
namespace {

// Time for a node that is not connected when the yard goes down; it may be about to reconnect.
constexpr absl::Duration kAtTheEnd = absl::Seconds(2);

}  // namespace

NodeLink::NodeLink(Options options) : options_(std::move(options)) {
  LoseAfter(options_.lost_after);
}

NodeLink::~NodeLink() { way_->Close(); }

void NodeLink::Take(runtime::UniqueFd socket) {
  if (is_welcome_) OnClosed(absl::UnavailableError("the node has connected again"));
  frames_ = std::make_unique<NodeFrames>(
      options_.loop, std::move(socket),
      NodeFrames::Callbacks{.on_frame = [this](std::string_view frame) { OnFrame(frame); },
                            .on_closed = [this](const absl::Status& why) { OnClosed(why); }});
}

void NodeLink::Attend(const std::string& key, Attendant* attendant) {
  attendants_[key] = attendant;
  if (!is_welcome_) return;
  way_->Post([this, key] {
    if (!is_welcome_) return;
    if (Attendant* const still = Find(key)) still->OnConnected(hello_.node);
  });
}

void NodeLink::Leave(const std::string& key) { attendants_.erase(key); }

bool NodeLink::SendWord(const std::string& word) {
  if (!is_welcome_) return false;
  frames_->Send(word);
  return true;
}

bool NodeLink::AskUsage(std::function<void(NodeUsage)> answer) {
  on_usage_ = nullptr;
  if (owes_usage_ || !Send({.kind = NodeOrder::Kind::kUsage, .number = ++usage_asked_})) {
    return false;
  }
  owes_usage_ = true;
  on_usage_ = std::move(answer);
  return true;
}

void NodeLink::OnUsage(NodeUsage usage) {
  if (!owes_usage_ || usage.number != usage_asked_) return;
  owes_usage_ = false;
  if (on_usage_) std::exchange(on_usage_, nullptr)(std::move(usage));
}

bool NodeLink::TakePorts(const std::string& job, std::uint64_t count,
                         std::function<void(std::vector<int>)> answer) {
  const std::uint64_t number = ports_asked_ + 1;
  if (!Send({.kind = NodeOrder::Kind::kTakePorts, .number = number, .job = job, .count = count})) {
    return false;
  }
  on_ports_[ports_asked_ = number] = std::move(answer);
  return true;
}

void NodeLink::OnPorts(const NodePortsTaken& taken) {
  auto asked = on_ports_.extract(taken.number);
  if (asked.empty()) return;
  LOG_IF(WARNING, taken.ports.empty())
      << "node " << options_.name << " has no ports: " << runtime::Printable(taken.why);
  asked.mapped()(taken.ports);
}

void NodeLink::OnFrame(std::string_view frame) {
  if (!is_welcome_) return OnHello(frame);
  if (const auto output = NodeOutput::Decode(frame)) {
    if (Attendant* const attendant = Find(output->attempt)) attendant->OnBytes(*output);
    return;
  }
  if (const auto news = NodeNews::Decode(frame)) return OnNews(*news);
  if (const auto want = NodeWant::Decode(frame)) {
    if (Attendant* const attendant = Find(want->attempt)) attendant->OnWant(*want);
    return;
  }
  if (auto part = FilePart::Decode(frame)) {
    Attendant* const attendant = Find(part->attempt);
    if (attendant != nullptr) attendant->OnFilePart(*std::move(part));
    return;
  }
  if (const auto hello = NodeHello::Decode(frame)) {
    hello_.leaving = hello->leaving;
    if (options_.on_change) options_.on_change(absl::OkStatus());
    return;
  }
  if (const auto ports = NodePortsTaken::Decode(frame)) return OnPorts(*ports);
  if (auto usage = NodeUsage::Decode(frame)) return OnUsage(*std::move(usage));
  LOG_EVERY_N(WARNING, 100) << "node " << options_.name
                            << " has said what this launcher does not know";
}

void NodeLink::OnHello(std::string_view frame) {
  const auto hello = NodeHello::Decode(frame);
  if (!hello || hello->node.empty()) return Refuse("these are not the words of a node");
  if (hello->protocol != kNodeProtocol) {
    return Refuse(absl::StrCat("the node speaks version ", hello->protocol,
                               " of the protocol, and this launcher version ", kNodeProtocol,
                               "; next: take both from one installation"));
  }
  if (options_.admit) {
    const absl::Status may_come = options_.admit(*hello);
    if (!may_come.ok()) {
      return Refuse(std::string(may_come.message()), absl::IsPermissionDenied(may_come));
    }
  }
  hello_ = *hello;
  is_welcome_ = true;
  owes_usage_ = false;
  heard_ = 0;
  lost_timer_.Cancel();
  (void)Send({.kind = NodeOrder::Kind::kWelcome});
  for (const std::string& key : hello_.attempts) {
    if (Find(key) != nullptr || !IsAttemptKey(key)) continue;
    LOG(WARNING) << "node " << options_.name << " has attempt " << key
                 << ", which nobody waits for any more: it is discarded";
    (void)Send({.kind = NodeOrder::Kind::kDiscard, .attempt = key});
  }
  if (options_.on_change) options_.on_change(absl::OkStatus());
  ForEach([this](Attendant* attendant) {
    if (is_welcome_) attendant->OnConnected(hello_.node);
  });
}

void NodeLink::OnNews(const NodeNews& news) {
  Attendant* const attendant = Find(news.attempt);
  if (attendant != nullptr) attendant->OnNews(news);
  AcknowledgeSoon(news.number);
}

void NodeLink::AcknowledgeSoon(std::uint64_t number) {
  heard_ = std::max(heard_, number);
  if (std::exchange(tells_heard_, true)) return;
  way_->Post([this] {
    tells_heard_ = false;
    if (heard_ > 0) (void)Send({.kind = NodeOrder::Kind::kHeard, .number = heard_});
  });
}

void NodeLink::Refuse(const std::string& why, bool for_good) {
  LOG(WARNING) << "refused a connection to node " << options_.name << ": " << why;
  frames_->Send(
      NodeOrder{.kind = NodeOrder::Kind::kRefuse, .line = why, .for_good = for_good}.Encode());
  frames_.reset();
}

void NodeLink::OnClosed(const absl::Status& why) {
  frames_.reset();
  if (!std::exchange(is_welcome_, false)) return;
  on_ports_.clear();
  lost_why_ = std::string(why.message());
  LoseAfter(options_.lost_after);
  if (options_.on_change) options_.on_change(why);
}

// Reports the loss after `patience`, repeatedly while the node is not connected, since attempts
// whose end is acknowledged also attend.
void NodeLink::LoseAfter(absl::Duration patience) {
  lost_timer_.Start(options_.loop, patience, [this, patience] {
    Lose(absl::StrCat("node ", options_.name,
                      patience < options_.lost_after
                          ? " is away, and the yard ends"
                          : " has been away for " + absl::FormatDuration(patience),
                      ": ", lost_why_));
    LoseAfter(options_.lost_after);
  });
}

void NodeLink::LoseSoonIfAway() {
  if (!is_welcome_) LoseAfter(std::min(kAtTheEnd, options_.lost_after));
}

void NodeLink::Lose(const std::string& why) {
  if (attendants_.empty()) return;
  LOG(WARNING) << why;
  ForEach([&why](Attendant* attendant) { attendant->OnLost(why); });
}

void NodeLink::GiveUp(const std::string& why) {
  OnClosed(absl::UnavailableError(why));
  Lose(why);
}

void NodeLink::ForEach(const std::function<void(Attendant*)>& call) {
  std::vector<std::string> keys;
  for (const auto& [key, attendant] : attendants_) keys.push_back(key);
  for (const std::string& key : keys) {
    if (Attendant* const attendant = Find(key)) call(attendant);
  }
}

NodeLink::Attendant* NodeLink::Find(const std::string& key) const {
  const auto found = attendants_.find(key);
  return found == attendants_.end() ? nullptr : found->second;
}

}  // namespace launcher
