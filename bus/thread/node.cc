#include "bus/thread/node.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/thread/bus_thread.h"
#include "bus/wire/trace.h"
#include "runtime/text/random_id.h"

namespace bus {

struct Node::State {
  Options options;
  std::uint64_t source = runtime::RandomId();
  std::uint64_t epoch = 0;
  Counters counters;
  std::unique_ptr<BusThread> thread;  // Destroyed first: its last functions use the other members.
};

absl::StatusOr<std::unique_ptr<Node>> Node::Create(Options options) {
  if (options.trace.size() > kMaxTraceBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a trace has at most ", kMaxTraceBytes,
                                                   " bytes, this one ", options.trace.size()));
  }
  auto thread = BusThread::Create(options.clock);
  if (!thread.ok()) return thread.status();
  auto state = std::make_unique<State>();
  state->epoch = static_cast<std::uint64_t>(absl::ToUnixMicros(options.clock->Now()));
  state->options = std::move(options);
  state->thread = std::move(*thread);
  return std::unique_ptr<Node>(new Node(std::move(state)));
}

Node::Node(std::unique_ptr<State> state) : state_(std::move(state)) {}
Node::~Node() = default;

const std::string& Node::name() const { return state_->options.name; }
const runtime::Locations& Node::locations() const { return state_->options.locations; }
runtime::Clock* Node::clock() const { return state_->options.clock; }
std::uint64_t Node::source() const { return state_->source; }
std::uint64_t Node::epoch() const { return state_->epoch; }
const std::string& Node::trace() const { return state_->options.trace; }
Counters& Node::counters() { return state_->counters; }
BusThread& Node::bus_thread() { return *state_->thread; }

}  // namespace bus
