#include "gate/admission.h"

#include <cctype>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bus/access/role_names.h"
#include "bus/schema/all_methods.h"
#include "bus/schema/envelope_generated.h"
#include "bus/wire/envelope.h"
#include "bus/wire/frame.h"
#include "flatbuffers/reflection_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/locations.h"

namespace gate {
namespace {

using bus::Role;
using ::testing::HasSubstr;
using What = Admission::What;

constexpr Role kRoles[] = {Role::kRead, Role::kPublish, Role::kControl, Role::kAdmin};

// The role that each method requires, stated a second time. A new method or a changed role is a
// security decision, and has to be made here too. Methods that are missing here require `read`.
const std::map<std::string, Role>& MoreThanRead() {
  static const auto* const roles = new std::map<std::string, Role>{
      {"Registry.Publish", Role::kPublish},
      {"Registry.Register", Role::kControl},
      {"Registry.Renew", Role::kControl},
      {"Registry.Revoke", Role::kControl},
      {"Registry.StartOrReuse", Role::kControl},
      {"Registry.StopInstance", Role::kControl},
      {"Registry.AnnounceInstance", Role::kControl},
      {"Registry.WithdrawInstance", Role::kControl},
      {"Launcher.Launch", Role::kControl},
      {"Launcher.StopJob", Role::kControl},
      {"Launcher.SignalJob", Role::kControl},
      {"Launcher.RestartJob", Role::kControl},
      {"Launcher.Barrier", Role::kControl},
      {"Launcher.RemoveJob", Role::kControl},
      {"Launcher.Notify", Role::kControl},
      {"Launcher.SetNode", Role::kControl},
      {"Launcher.RemoveNode", Role::kControl},
      {"Trainer.RunTrial", Role::kControl},
      {"Trainer.StopTrial", Role::kControl},
      {"Trainer.PauseTrial", Role::kControl},
      {"Trainer.ResumeTrial", Role::kControl},
      {"Trainer.RemoveTrial", Role::kControl},
      {"Trainer.TellTrial", Role::kControl},
      {"Trainer.SetSlots", Role::kControl},
      {"Trainer.RunSweep", Role::kControl},
      {"Trainer.ChangeSweep", Role::kControl},
      {"Datamanager.CacheRun", Role::kControl},
      {"Datamanager.UncacheRun", Role::kControl},
      {"Datamanager.Reload", Role::kControl},
      {"Datamanager.RemoveRun", Role::kControl},
      {"Datamanager.RestoreRun", Role::kControl},
      {"Datamanager.EmptyTrash", Role::kControl},
      {"Common.Backup", Role::kControl},
      {"Common.Annotate", Role::kControl},
      {"Common.AcknowledgeAlerts", Role::kControl},
      {"Common.Shutdown", Role::kAdmin},
      {"Common.SetLogLevel", Role::kAdmin},
  };
  return *roles;
}

Role RoleOf(const std::string& method) {
  const auto found = MoreThanRead().find(method);
  return found == MoreThanRead().end() ? Role::kRead : found->second;
}

// Returns every method of every schema (e.g. "Registry.Lookup"), read from the schemas.
std::set<std::string> MethodsOfSchemas() {
  const auto path = runtime::FindDataFile("bus/schema/envelope.bfbs");
  EXPECT_TRUE(path.ok()) << path.status();
  std::ifstream file(*path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::set<std::string> names;
  for (const auto* service : *reflection::GetSchema(bytes.data())->services()) {
    std::string of = service->name()->str();
    of = of.substr(of.rfind('.') + 1);
    for (const auto* call : *service->calls()) names.insert(of + "." + call->name()->str());
  }
  return names;
}

std::string ServiceName(std::string of) {
  for (char& c : of) c = static_cast<char>(std::tolower(c));
  return of;
}

bus::AllowedKey Key(Role role) { return {.name = "alice", .public_key = {}, .role = role}; }

bus::Frame Request(const std::string& method) {
  msg::EnvelopeT request;
  request.kind = msg::Kind::Request;
  request.corr = 7;
  request.method = method;
  return bus::Encode(request);
}

TEST(AdmissionTest, EveryMethodOfEverySchemaWithEachRoleIsAsTheTableSays) {
  const auto methods = MethodsOfSchemas();
  ASSERT_GT(methods.size(), 70u);
  EXPECT_EQ(methods.size(), rpc::AllMethods().size());
  for (const auto& [name, role] : MoreThanRead()) {
    EXPECT_TRUE(methods.contains(name)) << "no schema has " << name;
  }
  for (const std::string& full : methods) {
    const std::size_t dot = full.find('.');
    const std::string of = full.substr(0, dot), method = full.substr(dot + 1);
    // Every service has the methods of Common.
    std::vector<std::string> services = {ServiceName(of)};
    if (of == "Common") services.assign(Services().begin(), Services().end());
    for (const std::string& service : services) {
      for (const Role role : kRoles) {
        const bus::Frame frame = Request(method);
        const Admission verdict = Judge(service, frame.bytes(), Key(role));
        const bool may = role >= RoleOf(full);
        EXPECT_EQ(verdict.what, may ? What::kPass : What::kRefuse)
            << service << "." << method << " with " << bus::NameOfRole(role) << ": " << verdict.why;
        EXPECT_EQ(verdict.opens, may);
        if (may) continue;
        EXPECT_EQ(verdict.why.code(), absl::StatusCode::kPermissionDenied);
        EXPECT_EQ(verdict.corr, 7u);
      }
    }
  }
}

TEST(AdmissionTest, ARefusalNamesTheMethodTheRolesAndTheNextStep) {
  const bus::Frame frame = Request("StopTrial");
  const Admission verdict = Judge("trainer", frame.bytes(), Key(Role::kRead));
  EXPECT_EQ(verdict.why.message(),
            "trainer.StopTrial needs the role control, and the key alice has read; next: ask the "
            "yard's owner for `yard gate role alice control`");
}

TEST(AdmissionTest, AMethodOfAnotherServiceIsNone) {
  for (const auto& [service, method] :
       std::vector<std::pair<std::string, std::string>>{{"registry", "StopTrial"},
                                                        {"trainer", "Lookup"},
                                                        {"web", "Runs"},
                                                        {"trainer", ""},
                                                        {"launcher", "NoSuchMethod"},
                                                        {"trainer", "stoptrial"}}) {
    const bus::Frame frame = Request(method);
    const Admission verdict = Judge(service, frame.bytes(), Key(Role::kAdmin));
    EXPECT_EQ(verdict.what, What::kRefuse);
    EXPECT_EQ(verdict.why.code(), absl::StatusCode::kUnimplemented) << service << "." << method;
  }
}

TEST(AdmissionTest, TheGateLeadsToServicesAndToNoOtherSocket) {
  for (const std::string service : {"hub-pub", "hub-sub", "trainer-relay", "../trainer", "",
                                    "Trainer", "trainer/", "web.http"}) {
    const bus::Frame frame = Request("Stats");
    const Admission verdict = Judge(service, frame.bytes(), Key(Role::kAdmin));
    EXPECT_EQ(verdict.what, What::kRefuse) << service;
    EXPECT_EQ(verdict.why.code(), absl::StatusCode::kNotFound) << service;
    EXPECT_FALSE(verdict.opens);
  }
}

TEST(AdmissionTest, WhatOnlyAServiceSaysIsMalformed) {
  for (const msg::Kind kind : {msg::Kind::Event, msg::Kind::Tail, msg::Kind::Reply,
                               msg::Kind::ReplyPart, msg::Kind::Pong}) {
    msg::EnvelopeT envelope;
    envelope.kind = kind;
    envelope.method = "Stats";
    const bus::Frame frame = bus::Encode(envelope);
    EXPECT_EQ(Judge("trainer", frame.bytes(), Key(Role::kAdmin)).what, What::kMalformed)
        << msg::EnumNameKind(kind);
  }
}

TEST(AdmissionTest, ACancelOpensNoConnection) {
  msg::EnvelopeT envelope;
  envelope.kind = msg::Kind::Cancel;
  envelope.corr = 3;
  const bus::Frame frame = bus::Encode(envelope);
  const Admission verdict = Judge("trainer", frame.bytes(), Key(Role::kRead));
  EXPECT_EQ(verdict.what, What::kPass);
  EXPECT_FALSE(verdict.opens);
}

// Changes each byte of a disallowed request to each other value: no result may pass as a request
// that requires more than the role.
TEST(AdmissionTest, NoChangedByteMakesARoleMore) {
  const bus::Frame frame = Request("StopTrial");
  const std::vector<std::uint8_t> good(frame.bytes().begin(), frame.bytes().end());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int change = 1; change < 256; ++change) {
      std::vector<std::uint8_t> bytes = good;
      bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ change);
      const Admission verdict = Judge("trainer", bytes, Key(Role::kRead));
      if (verdict.what != What::kPass || !verdict.opens) continue;
      ASSERT_NE(verdict.method, nullptr);
      EXPECT_EQ(verdict.method->role, Role::kRead) << "byte " << at << " ^ " << change;
    }
  }
}

TEST(AdmissionTest, ASubscriptionIsABeginningOrAnEndOfAPrefixThatATopicCanHave) {
  EXPECT_TRUE(CheckSubscription(std::string_view("\1t/", 3), Key(Role::kRead)).ok());
  EXPECT_TRUE(CheckSubscription(std::string_view("\1", 1), Key(Role::kRead)).ok());
  EXPECT_TRUE(CheckSubscription(std::string_view("\0t/", 3), Key(Role::kRead)).ok());
  EXPECT_TRUE(CheckSubscription("\1" + std::string(200, 'x'), Key(Role::kRead)).ok());
  EXPECT_FALSE(CheckSubscription("\1" + std::string(201, 'x'), Key(Role::kRead)).ok());
  EXPECT_FALSE(CheckSubscription("", Key(Role::kRead)).ok());
  EXPECT_FALSE(CheckSubscription("t/", Key(Role::kRead)).ok());
  EXPECT_FALSE(CheckSubscription("\2t/", Key(Role::kRead)).ok());
}

TEST(AdmissionTest, AKeyOfANodeIsGoodForNoCallAndNoEvent) {
  bus::AllowedKey key = Key(Role::kAdmin);
  key.nonce = std::string(32, 'a');
  for (const std::string& full : MethodsOfSchemas()) {
    const std::size_t dot = full.find('.');
    const bus::Frame frame = Request(full.substr(dot + 1));
    for (const std::string_view service : Services()) {
      EXPECT_NE(Judge(service, frame.bytes(), key).what, What::kPass) << service << " " << full;
    }
  }
  EXPECT_EQ(CheckSubscription(std::string_view("\1t/", 3), key).code(),
            absl::StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace gate
