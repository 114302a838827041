#include "bus/test_yard.h"

#include <stdlib.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace bus {

TestYard::TestYard() {
  char name[] = "/tmp/bus-XXXXXX";
  CHECK(mkdtemp(name) != nullptr);
  directory_ = name;
}

TestYard::~TestYard() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

runtime::Locations TestYard::locations() const {
  return {.runtime_directory = directory_,
          .state_directory = directory_ + "/state",
          .registry_address = Address("registry")};
}

std::string TestYard::Address(const std::string& name) const {
  return absl::StrCat("ipc://", directory_, "/", name);
}

std::unique_ptr<Node> TestYard::MakeNode(const std::string& name) const {
  auto node = Node::Create({.name = name, .locations = locations()});
  CHECK(node.ok()) << node.status();
  return std::move(*node);
}

}  // namespace bus
