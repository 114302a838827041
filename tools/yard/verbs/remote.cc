#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bus/access/access_file.h"
#include "bus/access/key_folder.h"
#include "bus/access/role_names.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/callers_path.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/remote/remotes.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/text/table.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

// Returns the name of this machine's key at a gate: USER-MACHINE, without characters that names may
// not contain.
std::string NameOfKey(const Context& context) {
  std::string name;
  for (const std::string& entry : context.environment) {
    if (entry.starts_with("USER=")) name = entry.substr(5);
  }
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) {
    absl::StrAppend(&name, name.empty() ? "" : "-", host.data());
  }
  std::string kept;
  for (const char c : name) {
    if (bus::KeyFolder::CheckName(kept + c).ok()) kept.push_back(c);
  }
  return kept.empty() ? "laptop" : kept;
}

nlohmann::json RemoteToJson(const Remote& remote) {
  return {
      {"name", remote.name},
      {"gate", remote.access.address},
      {"key", remote.access.name},
      {"role", remote.access.role.empty() ? nlohmann::json() : nlohmann::json(remote.access.role)},
      {"file", remote.path}};
}

class RemoteVerb : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("what", words_,
                "add NAME, list (default) or rm NAME. NAME is for `yard --at NAME`.");
    options.Add("--role", role_, "add: read, publish, control or admin (default: read).");
    options.Add("--gate", gate_, "add: tcp://HOST:PORT of the gate, as the other side says it.");
    options.Add("--server_key", server_key_,
                "add: the gate's public key, as the other side says it.");
    options.Add("--file", file_, "add: a file that the other side has made instead.");
    options.Footer(
        "`yard remote add NAME` makes a key for this machine and prints what to type on the other "
        "side, which prints what to type here. With ssh none of that is needed: yard --at HOST.");
  }

  int Run(Context& context) override {
    if (absl::Status good = Check(); !good.ok()) return Fail(context, "remote", good);
    const Remotes remotes = Remotes::Of(context.environment);
    if (words_.empty() || words_[0] == "list") return List(context, remotes);
    if (words_[0] == "rm") return Remove(context, remotes);
    if (!file_.empty()) return AddFile(context, remotes);
    return server_key_.empty() ? Ask(context, remotes) : AddKey(context, remotes);
  }

 private:
  absl::Status Check() const {
    const std::string what = words_.empty() ? "list" : words_[0];
    if (what != "add" && what != "list" && what != "rm") {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", runtime::Printable(what), "\" is none of add, list, rm"));
    }
    const bool has_flags =
        !(role_.empty() && gate_.empty() && server_key_.empty() && file_.empty());
    if (what == "list" && words_.size() > 1)
      return absl::InvalidArgumentError("expected: yard remote list");
    if (what != "add" && has_flags) {
      return absl::InvalidArgumentError(
          "--role, --gate, --server_key and --file are of `yard remote add`");
    }
    if (what != "list" && words_.size() != 2) {
      return absl::InvalidArgumentError(absl::StrCat("expected: yard remote ", what, " NAME"));
    }
    if (what != "add") return absl::OkStatus();
    if (absl::Status good = Remotes::CheckName(words_[1]); !good.ok()) return good;
    if (auto role = bus::RoleOfName(Role()); !role.ok()) return role.status();
    if (!file_.empty() && !(role_.empty() && gate_.empty() && server_key_.empty())) {
      return absl::InvalidArgumentError(
          "--file says all: leave out --role, --gate and --server_key");
    }
    if (gate_.empty() != server_key_.empty()) {
      return absl::InvalidArgumentError("--gate and --server_key go together");
    }
    if (gate_.empty()) return absl::OkStatus();
    if (!bus::IsCurveKey(server_key_)) {
      return absl::InvalidArgumentError("--server_key is not 64 hexadecimal digits");
    }
    return bus::CheckGateAddress(gate_);
  }
  std::string Role() const { return role_.empty() ? "read" : role_; }

  // Prints the command to type on the other machine.
  int Ask(Context& context, const Remotes& remotes) const {
    const std::string& name = words_[1];
    if (const auto there = remotes.Find(name); !absl::IsNotFound(there.status())) {
      return Fail(context, "remote",
                  absl::AlreadyExistsError(absl::StrCat("there is a remote ", name,
                                                        " already; next: yard remote rm ", name)));
    }
    const auto key = remotes.OwnKey();
    if (!key.ok()) return Fail(context, "remote", key.status());
    const std::string there = absl::StrCat("yard gate allow ", NameOfKey(context), " --role ",
                                           Role(), " --public_key ", key->public_key);
    if (context.json) {
      PrintJson(context, {{"name", name}, {"type_there", there}, {"public_key", key->public_key}});
      return kDone;
    }
    *context.out << "type this on " << name << ", as the user whose yard it is:\n\n    " << there
                 << "\n\nIt prints a line that begins with `yard remote add`. Type that line here, "
                    "with the name "
                 << name << ".\n";
    return kDone;
  }

  int AddKey(Context& context, const Remotes& remotes) const {
    const auto key = remotes.OwnKey();
    if (!key.ok()) return Fail(context, "remote", key.status());
    return Add(context, remotes,
               {.address = gate_,
                .name = NameOfKey(context),
                .role = Role(),
                .keys = {.own = *key, .server_key = server_key_}});
  }

  int AddFile(Context& context, const Remotes& remotes) const {
    const auto path = CallersPath("--file", file_, context.working_directory);
    if (!path.ok()) return Fail(context, "remote", path.status());
    const auto access = bus::ReadAccessFile(*path);
    if (!access.ok()) return Fail(context, "remote", access.status());
    if (!access->nonce.empty()) {
      return Fail(context, "remote",
                  absl::InvalidArgumentError(absl::StrCat(
                      runtime::Printable(*path),
                      " is the key of a node, and not of a person; next: yard gate allow NAME")));
    }
    return Add(context, remotes, *access);
  }

  int Add(Context& context, const Remotes& remotes, const bus::AccessFile& access) const {
    const std::string& name = words_[1];
    if (absl::Status added = remotes.Add(name, access); !added.ok()) {
      return Fail(context, "remote", added);
    }
    const auto remote = remotes.Find(name);
    if (!remote.ok()) return Fail(context, "remote", remote.status());
    if (context.json) {
      PrintJson(context, RemoteToJson(*remote));
    } else {
      *context.out << name << " is the yard behind " << access.address << "; next: yard --at "
                   << name << " status\n";
    }
    return kDone;
  }

  static int List(Context& context, const Remotes& remotes) {
    Table table({"NAME", "GATE", "ROLE", "KEY"});
    bool is_empty = true;
    for (const std::string& name : remotes.Names()) {
      const auto remote = remotes.Find(name);
      if (!remote.ok()) {
        *context.err << "yard remote: "
                     << runtime::PrintableLines(std::string(remote.status().message())) << "\n";
        continue;
      }
      is_empty = false;
      if (context.json) {
        PrintJson(context, RemoteToJson(*remote));
        continue;
      }
      table.AddRow({name, runtime::Printable(remote->access.address),
                    runtime::Printable(remote->access.role),
                    runtime::Printable(remote->access.name)});
    }
    if (context.json) return kDone;
    *context.out << (is_empty ? "there is no remote; next: yard remote add NAME\n"
                              : table.ToString(context.out_width()));
    return kDone;
  }

  int Remove(Context& context, const Remotes& remotes) const {
    if (absl::Status removed = remotes.Remove(words_[1]); !removed.ok()) {
      return Fail(context, "remote", removed);
    }
    if (context.json) {
      PrintJson(context, {{"name", words_[1]}});
    } else {
      *context.out << "remote " << words_[1]
                   << " is removed; its key is good until the other side types yard gate remove\n";
    }
    return kDone;
  }

  std::vector<std::string> words_;
  std::string role_, gate_, server_key_, file_;
};

}  // namespace

std::unique_ptr<Verb> MakeRemote() { return std::make_unique<RemoteVerb>(); }

}  // namespace yard
