#include "launcher/run/pool_ports.h"

#include <algorithm>
#include <utility>

#include "glog/logging.h"

namespace launcher {
namespace {

// The range of random ports for nodes that gave none. (It lies below the ephemeral ports of
// kernels.)
constexpr int kFirstGuess = 10'000, kGuesses = 20'000;

}  // namespace

void PoolPorts::GiveUp(const std::string& job) { questions_.erase(job); }

void PoolPorts::Ask(const std::string& job, std::vector<Slot> slots,
                    std::function<void(std::vector<int>)> done) {
  GiveUp(job);
  auto& question = questions_[job] = std::make_unique<Question>();
  const std::uint64_t number = question->number = ++last_number_;
  question->slots = std::move(slots);
  question->done = std::move(done);
  std::map<std::string, std::size_t> counts;
  for (const Slot& slot : question->slots) {
    if (!slot.node.empty()) ++counts[slot.node];
  }
  for (const auto& [node, count] : counts) question->missing.insert(node);
  for (const auto& [node, count] : counts) {
    const bool is_asked = options_.hosts->TakePorts(
        node, job, count, [this, alive = alive_, job, number, node = node](std::vector<int> ports) {
          if (!*alive) return;
          const auto found = questions_.find(job);
          if (found == questions_.end() || found->second->number != number) return;
          found->second->answers[node] = std::move(ports);
          found->second->missing.erase(node);
          if (found->second->missing.empty()) Finish(job);
        });
    if (!is_asked) LOG(INFO) << "node " << node << " is not there to hold ports of job " << job;
  }
  question->timer.Start(options_.loop, counts.empty() ? absl::ZeroDuration() : options_.patience,
                        [this, job] { Finish(job); });
}

void PoolPorts::Finish(const std::string& job) {
  auto taken = questions_.extract(job);
  Question& question = *taken.mapped();
  question.timer.Cancel();
  std::vector<int> ports(question.slots.size(), 0);
  const auto take = [&](const std::string& node, int port) {
    auto& all = question.answers[node];
    const auto found = std::find(all.begin(), all.end(), port);
    if (found == all.end()) return false;
    all.erase(found);
    return true;
  };
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Slot& slot = question.slots[i];
    if (slot.port != 0 && take(slot.node, slot.port)) ports[i] = slot.port;
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Slot& slot = question.slots[i];
    if (slot.node.empty()) {
      ports[i] = slot.port;
      continue;
    }
    if (ports[i] != 0) continue;
    auto& rest = question.answers[slot.node];
    if (!rest.empty()) {
      ports[i] = rest.front();
      rest.erase(rest.begin());
      continue;
    }
    ports[i] = kFirstGuess + static_cast<int>(options_.random() * kGuesses);
    LOG(WARNING) << "node " << slot.node << " holds no port for job " << job << ": it gets port "
                 << ports[i] << ", which somebody else may use";
  }
  question.done(std::move(ports));
}

}  // namespace launcher
