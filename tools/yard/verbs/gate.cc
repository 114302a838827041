#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/access/access_file.h"
#include "bus/access/key_folder.h"
#include "bus/access/role_names.h"
#include "runtime/text/printable.h"
#include "runtime/text/random_id.h"
#include "runtime/text/shell_word.h"
#include "tools/yard/cli/callers_path.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/pool/host_name.h"
#include "tools/yard/pool/pool_jobs.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/services/gate_key.h"
#include "tools/yard/state/service_presence.h"
#include "tools/yard/text/quantities.h"
#include "tools/yard/text/table.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

std::string RoleOf(const bus::AllowedKey& key) {
  return std::string(key.is_of_node() ? bus::kNodeRole : bus::NameOfRole(key.role));
}

nlohmann::json KeyToJson(const bus::AllowedKey& key) {
  return {{"name", key.name},
          {"role", RoleOf(key)},
          {"public_key", key.public_key},
          {"allowed", TimeToJson(key.allowed_us)}};
}

// `own` is the gate's public key; empty if the gate has none.
nlohmann::json GateToJson(const Context& context, const std::string& own) {
  return {{"address", AddressOfGate(context.locations)},
          {"public_key", own.empty() ? nlohmann::json() : nlohmann::json(own)},
          {"running", HolderOf(context.locations, "gate") != 0}};
}

class Gate : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("what", words_,
                "key; allow NAME; list; role NAME ROLE; remove NAME. `key` makes the gate's own.",
                OptionSet::Need::kRequired);
    options.Add("--role", role_, "read, publish, control or admin (default: read).");
    options.Add("--out", out_, "allow: the file for NAME's machine (default: NAME.yard-key).");
    options.Flag("--node", node_,
                 "allow: a key for the node called NAME, with which it comes through the gate.");
    options.Add("--pool", pool_, "allow --node: adds the node to this pool of the yard.");
    options.Add("--public_key", public_key_,
                "allow: a key that NAME has made already; no file is written.");
    options.Add("--address", address_, "allow: tcp://HOST:PORT as NAME reaches this machine.");
    options.Footer(
        "NAME uses the yard with `yard remote add`, or YARD_REGISTRY=gate:FILE. docs/gate.md says "
        "what each role may do.");
  }

  int Run(Context& context) override {
    const absl::Status good = Check();
    if (!good.ok()) return Fail(context, "gate", good);
    const std::string& what = words_.front();
    const bus::KeyFolder folder(context.locations.state_directory);
    if (what == "key") return Key(context, folder);
    if (what == "allow") return Allow(context, folder);
    if (what == "list") return List(context, folder);
    if (what == "role") return SetRole(context, folder);
    return Remove(context, folder);
  }

 private:
  absl::Status Check() const {
    struct Form {
      const char* what;
      std::size_t words;
      const char* form;
    };
    constexpr Form kForms[] = {{"key", 1, "yard gate key"},
                               {"allow", 2, "yard gate allow NAME --role ROLE"},
                               {"list", 1, "yard gate list"},
                               {"role", 3, "yard gate role NAME ROLE"},
                               {"remove", 2, "yard gate remove NAME"}};
    const std::string& what = words_.front();
    const auto* const form = std::find_if(std::begin(kForms), std::end(kForms),
                                          [&](const Form& one) { return what == one.what; });
    if (form == std::end(kForms)) {
      return absl::InvalidArgumentError(absl::StrCat("\"", runtime::Printable(what),
                                                     "\" is none of key, allow, list, role, "
                                                     "remove"));
    }
    if (words_.size() != form->words) {
      return absl::InvalidArgumentError(absl::StrCat("expected: ", form->form));
    }
    const bool is_allow = what == "allow";
    if (!is_allow &&
        (node_ || !(role_.empty() && out_.empty() && public_key_.empty() && address_.empty()))) {
      return absl::InvalidArgumentError(
          "--role, --node, --out, --public_key and --address are of `yard gate allow`");
    }
    if (!pool_.empty()) {
      if (!node_) return absl::InvalidArgumentError("--pool is of `yard gate allow NAME --node`");
      if (absl::Status good = CheckPoolName(pool_); !good.ok()) return good;
    }
    if (node_ && !(role_.empty() && public_key_.empty())) {
      return absl::InvalidArgumentError(
          "the key of a node has no role, and comes in a file: leave out --role and --public_key");
    }
    if (!public_key_.empty() && !out_.empty()) {
      return absl::InvalidArgumentError("--public_key writes no file: leave out --out");
    }
    if (!address_.empty()) return bus::CheckGateAddress(address_);
    return absl::OkStatus();
  }

  static int Key(Context& context, const bus::KeyFolder& folder) {
    const auto key = EnsureGateKey(context, folder);
    if (!key.ok()) return Fail(context, "gate", key.status());
    if (context.json) {
      PrintJson(context, GateToJson(context, key->public_key));
      return kDone;
    }
    *context.out << "the gate is at " << AddressOfGate(context.locations) << ", its public key is "
                 << key->public_key << "\n";
    if (context.out_is_terminal) *context.out << "next: yard gate allow NAME --role read\n";
    return kDone;
  }

  int Allow(Context& context, const bus::KeyFolder& folder) {
    bus::AllowedKey key{.name = words_[1], .allowed_us = absl::ToUnixMicros(context.clock->Now())};
    const auto role = bus::RoleOfName(role_.empty() ? "read" : role_);
    if (!role.ok()) return Fail(context, "gate", role.status());
    key.role = *role;
    if (node_) key.nonce = runtime::RandomHex128();
    const absl::Status good =
        node_ ? bus::KeyFolder::CheckNodeName(key.name) : bus::KeyFolder::CheckName(key.name);
    if (!good.ok()) return Fail(context, "gate", good);
    const auto own = EnsureGateKey(context, folder);
    if (!own.ok()) return Fail(context, "gate", own.status());
    if (absl::Status added = AddToPool(context); !added.ok()) {
      return Fail(context, "gate", added);
    }
    if (!public_key_.empty()) {
      key.public_key = public_key_;
      if (absl::Status allowed = folder.Allow(key); !allowed.ok()) {
        return Fail(context, "gate", allowed);
      }
      return SayAllowed(context, key, "", AddressFor(context), own->public_key);
    }
    auto file = CallersPath("--out", out_.empty() ? key.name + ".yard-key" : out_,
                            context.working_directory);
    if (!file.ok()) return Fail(context, "gate", file.status());
    auto pair = bus::MakeCurvePair();
    if (!pair.ok()) return Fail(context, "gate", pair.status());
    key.public_key = pair->public_key;
    // The file is written before the key is allowed: an allowed key without a file would be
    // useless, while a file whose key is not allowed does no harm.
    const bus::AccessFile access{.address = AddressFor(context),
                                 .name = key.name,
                                 .role = RoleOf(key),
                                 .nonce = key.nonce,
                                 .keys = {.own = *pair, .server_key = own->public_key}};
    if (absl::Status written = bus::WriteAccessFile(*file, access); !written.ok()) {
      return Fail(context, "gate", written);
    }
    if (absl::Status allowed = folder.Allow(key); !allowed.ok()) {
      (void)unlink(file->c_str());
      return Fail(context, "gate", allowed);
    }
    return SayAllowed(context, key, *file, access.address, own->public_key);
  }

  // Returns the address of the gate as the machine with the key reaches it.
  std::string AddressFor(const Context& context) const {
    return address_.empty() ? AddressOfGate(context.locations) : address_;
  }

  // Adds the node to --pool. A node that is already in that pool stays unchanged.
  absl::Status AddToPool(Context& context) const {
    if (pool_.empty()) return absl::OkStatus();
    const auto nodes = AllNodes(context);
    if (!nodes.ok()) return nodes.status();
    for (const msg::NodeT& known : *nodes) {
      if (known.name == words_[1] && known.pool == pool_) return absl::OkStatus();
    }
    msg::NodeT node;
    node.name = words_[1];
    node.pool = pool_;
    return SetNode(context, node).status();
  }

  static int SayAllowed(Context& context, const bus::AllowedKey& key, const std::string& file,
                        const std::string& address, const std::string& server_key) {
    if (context.json) {
      nlohmann::json json = KeyToJson(key);
      json["file"] = file.empty() ? nlohmann::json() : nlohmann::json(file);
      json["server_key"] = server_key;
      PrintJson(context, json);
      return kDone;
    }
    *context.out << key.name << " is allowed: " << RoleOf(key) << "\n";
    if (file.empty()) {
      *context.out << "the gate's public key is " << server_key << "\nthere: yard remote add "
                   << runtime::ShellWord(OwnHostName()) << " --gate " << address << " --server_key "
                   << server_key << " --role " << bus::NameOfRole(key.role) << "\n";
    } else if (key.is_of_node()) {
      *context.out << "hand over " << runtime::Printable(file)
                   << ", which holds a secret; there: yard-node --folder DIR --key FILE\n";
    } else {
      *context.out << "hand over " << runtime::Printable(file)
                   << ", which holds a secret; there: yard remote add "
                   << runtime::ShellWord(OwnHostName()) << " --file FILE\n";
    }
    if (absl::StrContains(address, "//127.0.0.1:")) {
      *context.err << "the gate is open to this machine alone (" << address
                   << "); next: yard up --gate_address 0.0.0.0, or --address of a tunnel\n";
    }
    return kDone;
  }

  static int List(Context& context, const bus::KeyFolder& folder) {
    std::vector<std::string> bad;
    const auto keys = folder.Allowed(&bad);
    if (!keys.ok()) return Fail(context, "gate", keys.status());
    for (const std::string& why : bad) {
      *context.err << "yard gate: " << runtime::Printable(why) << "\n";
    }
    const auto own = folder.ServerKey();
    if (!own.ok() && !absl::IsNotFound(own.status())) return Fail(context, "gate", own.status());
    if (context.json) {
      PrintJson(context, GateToJson(context, own.ok() ? own->public_key : ""));
      for (const bus::AllowedKey& key : *keys) PrintJson(context, KeyToJson(key));
      return kDone;
    }
    if (!own.ok()) {
      *context.out << "this yard has no gate; next: yard gate key\n";
      return kDone;
    }
    Table table({"NAME", "ROLE", ">ALLOWED", "PUBLIC KEY"});
    for (const bus::AllowedKey& key : *keys) {
      const absl::Duration age = context.clock->Now() - absl::FromUnixMicros(key.allowed_us);
      table.AddRow(
          {key.name, RoleOf(key), absl::StrCat(ShortDuration(age), " ago"), key.public_key});
    }
    if (!keys->empty()) *context.out << table.ToString(context.out_width());
    *context.out << "the gate is at " << AddressOfGate(context.locations) << ": "
                 << (HolderOf(context.locations, "gate") != 0 ? "it runs" : "it does not run")
                 << "\n";
    return kDone;
  }

  int SetRole(Context& context, const bus::KeyFolder& folder) {
    const auto role = bus::RoleOfName(words_[2]);
    if (!role.ok()) return Fail(context, "gate", role.status());
    if (absl::Status set = folder.SetRole(words_[1], *role); !set.ok()) {
      return Fail(context, "gate", set);
    }
    return Say(context, words_[1], words_[2]);
  }

  int Remove(Context& context, const bus::KeyFolder& folder) {
    if (absl::Status removed = folder.Remove(words_[1]); !removed.ok()) {
      return Fail(context, "gate", removed);
    }
    return Say(context, words_[1], "");
  }

  // Reports the role of a key; an empty `role` means that the key was removed.
  static int Say(Context& context, const std::string& name, const std::string& role) {
    if (context.json) {
      PrintJson(context,
                {{"name", name}, {"role", role.empty() ? nlohmann::json() : nlohmann::json(role)}});
    } else {
      *context.out << name << (role.empty() ? " is removed" : ": " + role) << "\n";
    }
    return kDone;
  }

  std::vector<std::string> words_;
  std::string role_, out_, public_key_, address_, pool_;
  bool node_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeGate() { return std::make_unique<Gate>(); }

}  // namespace yard
