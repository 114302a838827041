#ifndef BUS_TEST_YARD_H_
#define BUS_TEST_YARD_H_

#include <memory>
#include <string>

#include "bus/node.h"
#include "runtime/file/locations.h"

namespace bus {

// A private directory with a short path (a socket's has at most 107 bytes), for the life of a
// test; and nodes that live in it.
class TestYard {
 public:
  TestYard();
  ~TestYard();
  TestYard(const TestYard&) = delete;
  TestYard& operator=(const TestYard&) = delete;

  const std::string& directory() const { return directory_; }
  runtime::Locations locations() const;
  // "ipc://DIRECTORY/NAME"
  std::string Address(const std::string& name) const;
  std::unique_ptr<Node> MakeNode(const std::string& name) const;

 private:
  std::string directory_;
};

}  // namespace bus

#endif  // BUS_TEST_YARD_H_
