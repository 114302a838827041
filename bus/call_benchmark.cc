// What a call costs beside a raw round trip of the same bytes over ipc, in the same run.

#include <memory>
#include <string>
#include <zmq.hpp>

#include "benchmark/benchmark.h"
#include "bus/client.h"
#include "bus/schema/registry_methods.h"
#include "bus/service.h"
#include "bus/test_yard.h"
#include "runtime/coordinator.h"
#include "runtime/thread.h"
#include "runtime/thread_pool.h"

namespace bus {
namespace {

using rpc::Registry;

constexpr std::size_t kBytes = 200;  // About what a small request has.

void RawRoundTrip(benchmark::State& state) {
  const TestYard yard;
  zmq::context_t context;
  zmq::socket_t router(context, zmq::socket_type::router);
  router.bind(yard.Address("raw"));
  runtime::Thread server("server", [&router] {
    zmq::message_t identity, body;
    while (router.recv(identity) && router.recv(body) && body.size() > 1) {
      router.send(identity, zmq::send_flags::sndmore);
      router.send(body, zmq::send_flags::none);
    }
  });
  zmq::socket_t dealer(context, zmq::socket_type::dealer);
  dealer.connect(yard.Address("raw"));
  const std::string request(kBytes, 'x');
  for (auto _ : state) {
    dealer.send(zmq::buffer(request), zmq::send_flags::none);
    zmq::message_t reply;
    benchmark::DoNotOptimize(dealer.recv(reply));
  }
  dealer.send(zmq::str_buffer("."), zmq::send_flags::none);
  server.Join();
}
BENCHMARK(RawRoundTrip)->UseRealTime();

void Call(benchmark::State& state, bool on_bus_thread) {
  const TestYard yard;
  runtime::Coordinator coordinator;
  const auto pool = runtime::ThreadPool::Create(&coordinator, {.threads = 2});
  const auto server_node = yard.MakeNode("registry");
  const auto client_node = yard.MakeNode("benchmark");
  Service service(server_node.get(), {.name = "registry",
                                      .endpoint = yard.Address("registry"),
                                      .pool = on_bus_thread ? nullptr : pool.get()});
  service.Handle<Registry::Renew>(
      [](const CallContext&, const msg::RenewRequestT&) { return msg::RenewReplyT(); });
  if (!service.Start().ok()) return state.SkipWithError("cannot serve");
  Client client(client_node.get());
  for (auto _ : state) {
    if (!client.Call<Registry::Renew>({}).ok()) return state.SkipWithError("call failed");
  }
  (void)coordinator.RequestStop();
}

void CallHandledOnTheBusThread(benchmark::State& state) { Call(state, true); }
BENCHMARK(CallHandledOnTheBusThread)->UseRealTime();

void CallHandledOnThePool(benchmark::State& state) { Call(state, false); }
BENCHMARK(CallHandledOnThePool)->UseRealTime();

}  // namespace
}  // namespace bus
