#ifndef TOOLS_YARD_TOP_FACT_READER_H_
#define TOOLS_YARD_TOP_FACT_READER_H_

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "bus/schema/envelope_generated.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/top/facts.h"
#include "tools/yard/top/model.h"
#include "tools/yard/top/usage_rates.h"
#include "tools/yard/top/watched_things.h"

namespace yard::top {

// Reads facts from the services. One thread, except GiveUp().
class FactReader {
 public:
  // The context must outlive the reader.
  explicit FactReader(Context& context) : context_(context) {}
  FactReader(const FactReader&) = delete;
  FactReader& operator=(const FactReader&) = delete;

  // Calls all services in parallel and blocks until they have answered, for about 3 s at most. For
  // a service that does not answer, keeps its last answer; Facts::why names the first such
  // service.
  Facts Read(const Subject& subject);
  // Carries out an order and returns the outcome in words. Blocks for at most 5 s.
  std::string Carry(const Order& order);
  // Makes a blocked Read() return soon, with fewer facts. Any thread.
  void GiveUp();

 private:
  struct Answers;

  // Starts a call whose reply is stored in that member of the answers.
  template <typename M>
  static void Start(bus::Client& client, const std::shared_ptr<Answers>& answers,
                    const typename M::RequestT& request,
                    absl::StatusOr<typename M::ReplyT> Answers::*member,
                    std::function<void(Answers&, const typename M::ReplyT&)> on_part = {});
  void Ask(bus::Client& client, const std::shared_ptr<Answers>& answers, const Subject& subject);
  void AskForReports(bus::Client& client, const std::shared_ptr<Answers>& answers,
                     const Subject& subject);
  static void AddReports(Answers& answers, const msg::FollowTrialReplyT& part);
  static void AskForOutput(bus::Client& client, const std::shared_ptr<Answers>& answers,
                           const std::string& of);
  static void AddOutput(Answers& answers, const msg::LogsReplyT& part);
  void Wait(Answers& answers);
  static void Note(const absl::Status& status, absl::Status* why);
  void Take(Answers& answers, Facts* facts);
  void TakeReports(Answers& answers, const Subject& subject);
  std::vector<std::string> Lines(Answers& answers, const Facts& facts) const;

  Context& context_;
  WatchedThings<msg::SweepT> sweeps_;
  WatchedThings<msg::TrialT> trials_;
  WatchedThings<msg::JobT> jobs_;
  msg::UsageReplyT usage_;
  std::vector<std::unique_ptr<msg::NodeT>> nodes_;
  UsageRates rates_;
  std::string reports_of_;  // Id of a trial.
  std::deque<msg::ResultRowT> reports_;
  std::atomic<bool> given_up_ = false;
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_FACT_READER_H_
