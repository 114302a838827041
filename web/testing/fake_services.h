#ifndef WEB_TESTING_FAKE_SERVICES_H_
#define WEB_TESTING_FAKE_SERVICES_H_

#include <map>
#include <memory>
#include <string>

#include "bus/call/client.h"
#include "bus/call/service.h"
#include "bus/fixtures/test_yard.h"
#include "bus/thread/node.h"
#include "runtime/coordinator.h"
#include "runtime/thread_pool.h"

namespace web {

// Services in this process with methods that a test defines, on real sockets in a private
// directory. A registry finds them; it does not know a service that was not added.
class FakeServices {
 public:
  FakeServices();

  // Call before Start(). Returns the same service for the same name.
  bus::Service& Add(const std::string& name);
  // Starts the registry and the added services.
  void Start();
  bus::Client& client() { return *client_; }
  const std::string& directory() const { return yard_.directory(); }

 private:
  bus::TestYard yard_;
  runtime::Coordinator coordinator_;
  std::unique_ptr<runtime::ThreadPool> pool_;
  std::unique_ptr<bus::Node> node_;
  std::map<std::string, std::unique_ptr<bus::Service>> services_;
  std::unique_ptr<bus::Node> callers_node_;
  std::unique_ptr<bus::Client> client_;
};

}  // namespace web

#endif  // WEB_TESTING_FAKE_SERVICES_H_
