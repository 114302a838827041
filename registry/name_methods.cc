#include "registry/name_methods.h"

#include <cstdint>
#include <memory>

#include "bus/call/name_list.h"
#include "bus/schema/common_methods.h"

namespace registry {
namespace {

using rpc::Common;

void ListTopics(bus::Hub& hub, bus::NameList& names) {
  msg::TopicsRequestT request;
  request.prefix = names.prefix();
  request.limit = static_cast<std::uint32_t>(names.limit()) + 1;  // One more, to see whether there
                                                                  // are more.
  for (const auto& topic : hub.Topics(request).topics) {
    if (!names.Add("topic", topic->topic, topic->type)) break;
  }
}

}  // namespace

void AddNameMethods(bus::Service* service, runtime::EventLoop* loop, bus::Hub* hub,
                    const RegistryService* services, InstanceService* tools) {
  service->HandleAsync<Common::Names>([=](std::shared_ptr<bus::ReplyWriter<Common::Names>> writer,
                                          const msg::NamesRequestT& request) {
    const auto names = std::make_shared<bus::NameList>(request);
    // (Handlers run on the pool, because the hub's methods wait for the bus thread.)
    if (names->Wants("topic")) ListTopics(*hub, *names);
    loop->Post([=] {
      if (names->Wants("service")) services->ListNames(*names);
      if (names->Wants("tool")) tools->ListNames(*names);
      writer->Finish(names->Take());
    });
  });
}

}  // namespace registry
