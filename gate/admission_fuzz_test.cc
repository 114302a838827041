// Feeds arbitrary bytes to Judge() as a client's message: what passes is allowed to the role.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bus/access/key_folder.h"
#include "bus/access/role_names.h"
#include "gate/admission.h"
#include "glog/logging.h"

// Input format: a byte for the role, a byte for the service, then the frame.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const bus::AllowedKey key{.name = "stranger",
                            .role = static_cast<bus::Role>(data[0] % 4),
                            .nonce = data[0] >= 128 ? "of a node" : ""};
  const auto services = gate::Services();
  const std::size_t chosen = data[1] % (services.size() + 1);
  const std::string frame(reinterpret_cast<const char*>(data + 2), size - 2);
  // (Otherwise, use the bytes themselves as an unknown service's name.)
  const std::string_view service =
      chosen < services.size() ? services[chosen] : std::string_view(frame).substr(0, 40);
  const gate::Admission verdict = gate::Judge(
      service, {reinterpret_cast<const std::uint8_t*>(frame.data()), frame.size()}, key);
  if (verdict.what == gate::Admission::What::kPass && verdict.opens) {
    CHECK(verdict.method != nullptr);
    CHECK(!key.is_of_node());
    CHECK(verdict.method->role <= key.role);
    CHECK(chosen < services.size());
  } else if (verdict.what != gate::Admission::What::kPass) {
    CHECK(!verdict.why.ok());
  }
  CHECK(!key.is_of_node() || !gate::CheckSubscription(frame, key).ok());
  return 0;
}
