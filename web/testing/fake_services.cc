#include "web/testing/fake_services.h"

#include "bus/schema/registry_methods.h"
#include "glog/logging.h"

namespace web {

FakeServices::FakeServices()
    : pool_(runtime::ThreadPool::Create(&coordinator_, {.threads = 2})),
      node_(yard_.MakeNode("registry")) {}

bus::Service& FakeServices::Add(const std::string& name) {
  auto& service = services_[name];
  if (service == nullptr) {
    service = std::make_unique<bus::Service>(
        node_.get(),
        bus::Service::Options{.name = name, .endpoint = yard_.Address(name), .pool = pool_.get()});
  }
  return *service;
}

void FakeServices::Start() {
  const auto lease_of = [this](const std::string& name) {
    auto lease = std::make_unique<msg::LeaseT>();
    lease->name = name;
    lease->instance = "0";
    lease->endpoints = {yard_.Address(name)};
    return lease;
  };
  bus::Service& registry = Add("registry");
  registry.Handle<rpc::Registry::Lookup>(
      [this, lease_of](const bus::CallContext&, const auto& request) {
        msg::LookupReplyT reply;
        if (services_.count(request.name) > 0) reply.leases.push_back(lease_of(request.name));
        return reply;
      });
  registry.Handle<rpc::Registry::List>([this, lease_of](const bus::CallContext&, const auto&) {
    msg::ListReplyT reply;
    for (const auto& [name, unused] : services_) reply.leases.push_back(lease_of(name));
    return reply;
  });
  for (auto& [name, service] : services_) CHECK(service->Start().ok()) << name;
  callers_node_ = yard_.MakeNode("web");
  client_ = std::make_unique<bus::Client>(callers_node_.get());
}

}  // namespace web
