#include "bench/calls.h"

#include <memory>
#include <string>
#include <utility>
#include <zmq.hpp>

#include "bench/round_trips.h"
#include "bus/call/client.h"
#include "bus/call/service.h"
#include "bus/fixtures/test_yard.h"
#include "bus/schema/registry_methods.h"
#include "bus/wire/envelope.h"
#include "bus/wire/frame.h"
#include "runtime/coordinator.h"
#include "runtime/text/random_id.h"
#include "runtime/thread.h"
#include "runtime/thread_pool.h"

namespace bench {
namespace {

using Renew = rpc::Registry::Renew;

// The frames of Renew({}): the request that a Client sends, and its reply.
bus::Frame RequestFrame() {
  msg::EnvelopeT request;
  request.head = std::make_unique<msg::Head>(1, 1, 0, 1);
  request.kind = msg::Kind::Request;
  request.corr = 1;
  request.budget_ms = 1;
  request.method = std::string(Renew::kInfo.name);
  request.request_id = request.trace = runtime::RandomHex128();
  request.body.Set(msg::RenewRequestT());
  return bus::Encode(request);
}

bus::Frame ReplyFrame() {
  msg::EnvelopeT reply;
  reply.kind = msg::Kind::Reply;
  reply.corr = 1;
  reply.body.Set(msg::RenewReplyT());
  return bus::Encode(reply);
}

}  // namespace

absl::StatusOr<double> Call(bool through_the_pool, absl::Duration time) {
  const bus::TestYard yard;
  runtime::Coordinator coordinator;
  const auto pool = runtime::ThreadPool::Create(&coordinator, {.threads = 2});
  const auto server_node = yard.MakeNode("registry");
  const auto client_node = yard.MakeNode("caller");
  bus::Service service(server_node.get(), {.name = "registry",
                                           .endpoint = yard.Address("registry"),
                                           .pool = through_the_pool ? pool.get() : nullptr});
  // As in the schema, except for the thread that runs it.
  bus::MethodInfo method = Renew::kInfo;
  method.runs_inline = !through_the_pool;
  service.AddMethod(method, Renew::kRequestType,
                    [](std::shared_ptr<bus::Responder> responder, const msg::EnvelopeT&) {
                      bus::ReplyWriter<Renew>(std::move(responder)).Finish(msg::RenewReplyT());
                    });
  if (absl::Status started = service.Start(); !started.ok()) return started;
  bus::Client client(client_node.get());
  auto median = MedianRoundTrip(time, [&] { return client.Call<Renew>({}).status(); });
  (void)coordinator.RequestStop();
  return median;
}

absl::StatusOr<double> RawRoundTrip(absl::Duration time) {
  const bus::TestYard yard;
  const bus::Frame request = RequestFrame(), reply = ReplyFrame();
  zmq::context_t server_context, client_context;
  zmq::socket_t router(server_context, zmq::socket_type::router);
  router.bind(yard.Address("raw"));
  runtime::Thread server("server", [&] {
    zmq::message_t identity, body;
    while (router.recv(identity) && router.recv(body) && body.size() > 1) {
      router.send(identity, zmq::send_flags::sndmore);
      router.send(zmq::buffer(reply.text()), zmq::send_flags::none);
    }
  });
  zmq::socket_t dealer(client_context, zmq::socket_type::dealer);
  dealer.set(zmq::sockopt::rcvtimeo, 20'000);
  dealer.connect(yard.Address("raw"));
  auto median = MedianRoundTrip(time, [&]() -> absl::Status {
    zmq::message_t answer;
    dealer.send(zmq::buffer(request.text()), zmq::send_flags::none);
    if (dealer.recv(answer)) return absl::OkStatus();
    return absl::DeadlineExceededError("no answer came");
  });
  dealer.send(zmq::str_buffer("."), zmq::send_flags::none);
  server.Join();
  return median;
}

}  // namespace bench
