#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bus/schema/registry_methods.h"
#include "tools/yard/follow.h"
#include "tools/yard/printable.h"
#include "tools/yard/things_json.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

class Pub : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("topic", topic_, "Where to: e/... (a missing / at its end is added).",
                OptionSet::Need::kRequired);
    options.Add("json", payload_, "What: JSON, or any text with --raw.",
                OptionSet::Need::kRequired);
    options.Flag("--raw", raw_, "Send the text as it is.");
  }

  int Run(Context& context) override {
    if (const absl::Status good = CheckPayload(); !good.ok()) return Fail(context, "pub", good);
    if (!absl::EndsWith(topic_, "/")) topic_ += '/';
    auto client = context.client();
    if (!client.ok()) return Fail(context, "pub", client.status());
    msg::PublishRequestT request;
    request.topic = topic_;
    request.payload.assign(payload_.begin(), payload_.end());
    request.payload_type = raw_ ? "text/plain" : "application/json";
    const auto reply = (*client)->Call<rpc::Registry::Publish>(request, Patient());
    if (!reply.ok()) return Fail(context, "pub", reply.status());
    if (context.json) {
      PrintJson(context,
                {{"topic", topic_}, {"seq", reply->seq}, {"subscribers", reply->subscribers}});
    } else {
      *context.out << Printable(topic_) << " seq " << reply->seq << ", " << reply->subscribers
                   << (reply->subscribers == 1 ? " subscriber\n" : " subscribers\n");
    }
    return kDone;
  }

 private:
  absl::Status CheckPayload() const {
    if (raw_) return absl::OkStatus();
    try {
      const auto parsed = nlohmann::json::parse(payload_);
    } catch (const nlohmann::json::exception& error) {
      // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
      const std::string what = error.what();
      return absl::InvalidArgumentError(
          absl::StrCat("not JSON: ", what.substr(what.find("] ") + 2), "; --raw sends any text"));
    }
    return absl::OkStatus();
  }

  std::string topic_, payload_;
  bool raw_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakePub() { return std::make_unique<Pub>(); }

}  // namespace yard
