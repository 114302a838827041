// A service that tests kill and stop: echo_service DIRECTORY. Serves some of the registry's methods
// at ipc://DIRECTORY/registry, and prints its pid when it is ready:
//   List      returns its pid as `revision`. Prefix "slow": never answers; "once": does not answer
//             the first attempt; "torn": returns 20,000 leases, but on the first attempt sends a
//             part with ten leases and then nothing.
//   Publish   (remembered) returns the number of its calls as `seq`.
//   Watch     (streaming) sends one part and stays open.

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bus/call/service.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/node.h"
#include "runtime/coordinator.h"
#include "runtime/thread_pool.h"

namespace {

using rpc::Registry;

int Run(const std::string& directory) {
  runtime::Coordinator coordinator;
  auto pool = runtime::ThreadPool::Create(&coordinator, {.threads = 1});
  auto node =
      bus::Node::Create({.name = "echo",
                         .locations = {.runtime_directory = directory,
                                       .state_directory = directory,
                                       .registry_address = "ipc://" + directory + "/registry"}});
  if (!node.ok()) return 1;
  bus::Service service(
      node->get(),
      {.name = "registry", .endpoint = (*node)->locations().registry_address, .pool = pool.get()});
  service.HandleAsync<Registry::List>([](std::shared_ptr<bus::ReplyWriter<Registry::List>> writer,
                                         const msg::ListRequestT& request) {
    static std::vector<std::shared_ptr<void>> never;
    if (request.prefix == "slow") return never.push_back(writer);
    if (request.prefix == "once" && writer->context().attempt == 0) return never.push_back(writer);
    msg::ListReplyT reply;
    if (request.prefix == "torn") {
      const bool first = writer->context().attempt == 0;
      for (int i = 0; i < (first ? 10 : 20'000); ++i) {
        reply.leases.push_back(std::make_unique<msg::LeaseT>());
      }
      if (first) {
        (void)writer->SendPart(std::move(reply));
        return never.push_back(writer);
      }
    }
    reply.revision = getpid();
    writer->Finish(std::move(reply));
  });
  std::atomic<std::uint64_t> published{0};
  service.Handle<Registry::Publish>([&](const bus::CallContext&, const msg::PublishRequestT&) {
    msg::PublishReplyT reply;
    reply.seq = ++published;
    return reply;
  });
  std::shared_ptr<bus::ReplyWriter<Registry::Watch>> open;
  service.HandleAsync<Registry::Watch>(
      [&](std::shared_ptr<bus::ReplyWriter<Registry::Watch>> writer, const msg::WatchRequestT&) {
        msg::WatchReplyT part;
        part.revision = 1;
        (void)writer->SendPart(std::move(part));
        open = writer;
      });
  if (!service.Start().ok()) return 1;
  std::printf("%d\n", getpid());
  std::fflush(stdout);
  coordinator.WaitForStop(absl::InfiniteDuration());
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return argc == 2 ? Run(argv[1]) : 2; }
