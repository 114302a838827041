#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/json/json_path.h"
#include "tools/yard/json/message_json.h"
#include "tools/yard/json/message_schema.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/text/table.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

const char* RoleName(bus::Role role) {
  switch (role) {
    case bus::Role::kRead:
      return "read";
    case bus::Role::kPublish:
      return "publish";
    case bus::Role::kControl:
      return "control";
    case bus::Role::kAdmin:
      return "admin";
  }
  return "unknown";
}

class Call : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("service", service_, "registry, launcher, trainer, datamanager, ...");
    options.Add("method", method_, "A method; --list shows them.");
    options.Add("json", request_, "The request; names need no quotes (default: {}).");
    options.Flag("--list", list_, "Methods of the service (of all without one), and fields.");
    options.Add("--field", field_, "Print this of each answer alone: leases[0].name.");
    options.Add("--timeout", timeout_, "Seconds (default: the method's own); then exit 5.");
  }

  int Run(Context& context) override {
    auto messages = MessageJson::Load();
    if (!messages.ok()) return Fail(context, "call", messages.status());
    const MessageSchema& schema = (*messages)->schema();
    if (list_) return List(context, schema);
    if (service_.empty() || method_.empty()) {
      return Fail(context, "call",
                  absl::InvalidArgumentError(
                      "which service and method? yard call --list shows all of them"));
    }
    if (!field_.empty()) {
      auto field = JsonPath::Parse(field_);
      if (!field.ok()) return Fail(context, "call", field.status());
      path_ = *std::move(field);
    }
    auto method = schema.FindMethod(service_, method_);
    if (!method.ok()) return Fail(context, "call", method.status());
    auto request = (*messages)->FromJson(method->request_type, request_);
    if (!request.ok()) return Fail(context, "call", request.status());
    request->method = method_;
    return Ask(context, **messages, *method, *std::move(request));
  }

 private:
  int Ask(Context& context, const MessageJson& messages, const MessageSchema::Method& method,
          msg::EnvelopeT request) const {
    auto client = context.client();
    if (!client.ok()) return Fail(context, "call", client.status());
    const bus::CallOptions options{.timeout = absl::Seconds(std::max(timeout_, 0.0)),
                                   .service = service_};
    if (!method.info.streaming) {
      auto reply = (*client)->CallEnvelope(method.info, std::move(request), options);
      if (!reply.ok()) return Fail(context, "call", reply.status());
      return Print(context, messages, *reply, 2)
                 ? kDone
                 : Fail(context, "call",
                        absl::NotFoundError(absl::StrCat("the answer has no ", field_)));
    }
    auto end = (*client)->StreamEnvelope(
        method.info, std::move(request),
        [&](msg::EnvelopeT part) {
          Print(context, messages, part);
          return context.out->good();
        },
        options);
    if (absl::IsCancelled(end.status()) && !context.out->good()) return kDone;
    if (!end.ok()) return Fail(context, "call", end.status());
    Print(context, messages, *end);
    return kDone;
  }

  // Prints one JSON object a line, or laid out with `indent` spaces on a terminal (control
  // characters of the message are escaped). With --field, prints only that value, a string without
  // quotes. Returns false if the message lacks the field.
  bool Print(Context& context, const MessageJson& messages, const msg::EnvelopeT& envelope,
             int indent = -1) const {
    const nlohmann::json json = messages.ToJson(envelope);
    const auto shown = path_.has_value() ? path_->Find(json) : std::optional(json);
    if (!shown.has_value()) return false;
    if (path_.has_value() && shown->is_string() && !context.json) {
      *context.out << runtime::Printable(shown->get<std::string>()) << "\n";
    } else if (context.json || !context.out_is_terminal) {
      PrintJson(context, *shown);
    } else {
      *context.out << shown->dump(indent, ' ', /*ensure_ascii=*/true,
                                  nlohmann::json::error_handler_t::replace)
                   << "\n";
    }
    context.out->flush();
    return true;
  }

  int List(Context& context, const MessageSchema& schema) const {
    std::vector<std::string> services = schema.Services();
    if (!service_.empty()) {
      if (std::find(services.begin(), services.end(), service_) == services.end()) {
        return Fail(context, "call",
                    absl::NotFoundError(absl::StrCat("no service ", service_, "; there are ",
                                                     absl::StrJoin(services, ", "))));
      }
      services = {service_};
    }
    Table table({"SERVICE", "METHOD", "ROLE", "REQUEST", "FIELDS"});
    for (const std::string& service : services) {
      for (const MessageSchema::Method& method : schema.Methods(service)) {
        // Methods that every service has are listed once.
        if (method.info.service.empty() && services.size() > 1 && service != services.front()) {
          continue;
        }
        if (context.json) {
          PrintMethod(context, service, method);
          continue;
        }
        const bool every = method.info.service.empty() && services.size() > 1;
        table.AddRow({every ? "(every)" : service, std::string(method.info.name),
                      RoleName(method.info.role), method.request_type,
                      absl::StrJoin(method.request_fields, ", ")});
      }
    }
    if (!context.json) *context.out << table.ToString(context.out_width());
    return kDone;
  }

  static void PrintMethod(Context& context, const std::string& service,
                          const MessageSchema::Method& method) {
    PrintJson(context, {{"service", service},
                        {"method", std::string(method.info.name)},
                        {"role", RoleName(method.info.role)},
                        {"streaming", method.info.streaming},
                        {"request", method.request_type},
                        {"reply", method.reply_type},
                        {"fields", method.request_fields},
                        {"comment", method.comment}});
  }

  std::string service_, method_, request_ = "{}", field_;
  std::optional<JsonPath> path_;
  bool list_ = false;
  double timeout_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakeCall() { return std::make_unique<Call>(); }

}  // namespace yard
