// Events a second through the hub beside zmq_proxy (XSUB to XPUB), two frames each, over ipc, in
// the same run. What is measured is a batch: sent as a whole, then received as a whole.

#include <string>
#include <zmq.hpp>

#include "benchmark/benchmark.h"
#include "bus/hub.h"
#include "bus/test_yard.h"
#include "runtime/thread.h"

namespace bus {
namespace {

constexpr int kBatch = 200;

void ForwardBatches(benchmark::State& state, zmq::context_t& context, const std::string& in,
                    const std::string& out) {
  zmq::socket_t publisher(context, zmq::socket_type::xpub);
  zmq::socket_t subscriber(context, zmq::socket_type::sub);
  for (zmq::socket_t* socket : {&publisher, &subscriber}) {
    socket->set(zmq::sockopt::linger, 0);
    socket->set(zmq::sockopt::rcvtimeo, 20'000);
  }
  publisher.set(zmq::sockopt::xpub_nodrop, true);  // It waits instead.
  subscriber.connect(out);
  subscriber.set(zmq::sockopt::subscribe, "m/");
  publisher.connect(in);
  const std::string payload(static_cast<std::size_t>(state.range(0)), 'x');
  zmq::message_t message;
  (void)publisher.recv(message);  // The subscription has arrived.
  const auto send = [&] {
    publisher.send(zmq::str_buffer("m/run-1/loss/"), zmq::send_flags::sndmore);
    publisher.send(zmq::buffer(payload), zmq::send_flags::none);
  };
  const auto receive = [&] {
    return subscriber.recv(message).has_value() && subscriber.recv(message).has_value();
  };
  // Until the subscriber's own subscription has taken effect.
  subscriber.set(zmq::sockopt::rcvtimeo, 20);
  do send();
  while (!receive());
  while (receive()) {
  }
  subscriber.set(zmq::sockopt::rcvtimeo, 20'000);
  for (auto _ : state) {
    for (int i = 0; i < kBatch; ++i) send();
    for (int i = 0; i < kBatch; ++i) {
      if (!receive()) return state.SkipWithError("an event was lost");
    }
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}

void RawProxy(benchmark::State& state) {
  const TestYard yard;
  zmq::context_t context;
  zmq::socket_t in(context, zmq::socket_type::xsub);
  zmq::socket_t out(context, zmq::socket_type::xpub);
  zmq::socket_t control(context, zmq::socket_type::pair);
  zmq::socket_t stop(context, zmq::socket_type::pair);
  in.bind(yard.Address("in"));
  out.bind(yard.Address("out"));
  control.bind("inproc://control");
  stop.connect("inproc://control");
  runtime::Thread proxy("proxy",
                        [&] { zmq::proxy_steerable(in, out, zmq::socket_ref(), control); });
  {
    zmq::context_t other;
    ForwardBatches(state, other, yard.Address("in"), yard.Address("out"));
  }
  stop.send(zmq::str_buffer("TERMINATE"), zmq::send_flags::none);
  proxy.Join();
}
BENCHMARK(RawProxy)->Arg(64)->Arg(1024)->UseRealTime();

void ThroughTheHub(benchmark::State& state) {
  const TestYard yard;
  const auto node = yard.MakeNode("registry");
  const auto hub = Hub::Create(node.get(), Hub::DefaultAddresses(yard.locations()));
  if (!hub.ok()) return state.SkipWithError("no hub");
  zmq::context_t other;
  ForwardBatches(state, other, yard.Address("hub-pub"), yard.Address("hub-sub"));
}
BENCHMARK(ThroughTheHub)->Arg(64)->Arg(1024)->UseRealTime();

}  // namespace
}  // namespace bus
