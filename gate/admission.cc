#include "gate/admission.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/access/role_names.h"
#include "bus/schema/all_methods.h"
#include "bus/thread/socket.h"
#include "bus/wire/receive.h"
#include "bus/wire/topic.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"

namespace gate {
namespace {

constexpr std::array<std::string_view, 6> kServices = {"registry", "launcher", "datamanager",
                                                       "trainer",  "web",      "gate"};
constexpr char kBegins = '\1';
constexpr char kEnds = '\0';

using Methods = std::map<std::pair<std::string_view, std::string_view>, const bus::MethodInfo*>;

const Methods& MethodsByName() {
  static const auto* const methods = [] {
    auto* const all = new Methods;
    for (const bus::MethodInfo* const method : rpc::AllMethods()) {
      all->emplace(std::pair(method->service, method->name), method);
    }
    return all;
  }();
  return *methods;
}

std::string Text(const flatbuffers::String* text) { return text == nullptr ? "" : text->str(); }

Admission Malformed(absl::Status why) {
  return {.what = Admission::What::kMalformed, .why = std::move(why)};
}

absl::Status Lacks(std::string_view service, const bus::MethodInfo& method,
                   const bus::AllowedKey& key) {
  const auto needed = runtime::Absl(bus::NameOfRole(method.role));
  return absl::PermissionDeniedError(absl::StrCat(
      runtime::Absl(service), ".", runtime::Absl(method.name), " needs the role ", needed,
      ", and the key ", key.name, " has ", runtime::Absl(bus::NameOfRole(key.role)),
      "; next: ask the yard's owner for `yard gate role ", key.name, " ", needed, "`"));
}

absl::Status CallsOfNode(const bus::AllowedKey& key) {
  return absl::PermissionDeniedError(
      absl::StrCat("the key ", key.name, " is a node's, and good for no call and no event; next: ",
                   "ask the yard's owner for a key with `yard gate allow NAME --role read`"));
}

Admission JudgeRequest(std::string_view service, const bus::Received& request,
                       const bus::AllowedKey& key) {
  Admission verdict{.what = Admission::What::kRefuse, .corr = request->corr()};
  verdict.request_id = Text(request->request_id());
  verdict.trace = Text(request->trace());
  if (std::find(kServices.begin(), kServices.end(), service) == kServices.end()) {
    verdict.why = absl::NotFoundError(absl::StrCat(
        "the gate leads to no service \"", runtime::Printable(service), "\"; it leads to ",
        absl::StrJoin(kServices, ", ",
                      [](std::string* out, std::string_view name) { out->append(name); })));
    return verdict;
  }
  const std::string name = Text(request->method());
  const bus::MethodInfo* const method = FindMethod(service, name);
  if (method == nullptr) {
    verdict.why = absl::UnimplementedError(
        absl::StrCat("the gate knows no method \"", absl::CHexEscape(name), "\" of the ",
                     runtime::Absl(service), ", and so not its role"));
    return verdict;
  }
  if (key.is_of_node()) {
    verdict.why = CallsOfNode(key);
    return verdict;
  }
  if (key.role < method->role) {
    verdict.why = Lacks(service, *method, key);
    return verdict;
  }
  verdict.what = Admission::What::kPass;
  verdict.opens = true;
  verdict.method = method;
  return verdict;
}

}  // namespace

std::span<const std::string_view> Services() { return kServices; }

const bus::MethodInfo* FindMethod(std::string_view service, std::string_view method) {
  const Methods& methods = MethodsByName();
  // Methods of every service have an empty service name.
  for (const std::string_view of : {service, std::string_view()}) {
    if (const auto found = methods.find({of, method}); found != methods.end()) {
      return found->second;
    }
  }
  return nullptr;
}

Admission Judge(std::string_view service, std::span<const std::uint8_t> envelope,
                const bus::AllowedKey& key) {
  const auto received = bus::Receive(envelope, bus::kMaxRequestBytes);
  if (!received.ok()) return Malformed(received.status());
  switch ((*received)->kind()) {
    case msg::Kind::Request:
      return JudgeRequest(service, *received, key);
    case msg::Kind::Cancel:
    case msg::Kind::Ping:
      if (key.is_of_node()) return Malformed(CallsOfNode(key));
      return {.what = Admission::What::kPass, .corr = (*received)->corr()};
    default:
      return Malformed(absl::InvalidArgumentError("not a request"));
  }
}

absl::Status CheckSubscription(std::string_view frame, const bus::AllowedKey& key) {
  if (key.is_of_node()) return CallsOfNode(key);
  if (frame.empty() || (frame.front() != kBegins && frame.front() != kEnds)) {
    return absl::InvalidArgumentError("not a subscription");
  }
  if (frame.size() > 1 + bus::kMaxTopicBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a subscription of ", frame.size() - 1, " bytes, over ", bus::kMaxTopicBytes));
  }
  return absl::OkStatus();
}

}  // namespace gate
