#ifndef TUNING_ENGINE_CONVERSATION_H_
#define TUNING_ENGINE_CONVERSATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tuning/engine/engine.h"

namespace tuning {

// A conversation with an external optimiser in lines of JSON (docs/sweeps.md). The optimiser
// answers each line with one line:
//
//   {"t":"start","v":1,"seed":7,"space":{...},      {"t":"ready"}
//    "objectives":[...],"options":{...}}
//   {"t":"ask","id":12}                             {"t":"config","config":{...}}, or
//                                                   {"t":"wait"} (for results), or
//                                                   {"t":"end","reason":"..."}
//   {"t":"tell","id":12,"state":"done",...}         {"t":"ok"}
//   {"t":"add","state":"done",...}                  {"t":"ok"}
//   {"t":"note","text":"..."}                       {"t":"ok"}
//
// The lines and their order follow only from the engine's events: a result comes before the
// questions that were asked after it. So a restarted program, which receives all lines from the
// beginning, gives the same answers if it decides only by them and its seed. An answer that differs
// from the previous program's answer is ignored, and a note tells the new program so. Not
// thread-safe.
class Conversation {
 public:
  // Returns the next line; nullopt if the engine has no question or the optimiser waits for
  // results. Precondition: the previous line was answered.
  std::optional<std::string> Next(const Engine& engine);

  // The meaning of an answer.
  struct Answer {
    enum class Kind {
      kHeard,      // Nothing to do.
      kSuggested,  // text: the configuration.
      kRefused,    // text: why the suggestion is invalid.
      kExhausted,  // text: the reason; may be empty.
      kBroken,     // text: the error. The conversation cannot continue.
    };
    Kind kind = Kind::kHeard;
    std::string text = {};
    std::uint64_t trial = 0;  // Trial and number of the question, for the event.
    std::uint64_t number = 0;
  };
  Answer Take(const Engine& engine, std::string_view line);

  // Returns true if it waits for results, but no running trial could give one.
  bool IsStuck(const Engine& engine) const;
  // Returns the optimiser's own name; empty if it gave none.
  const std::string& name() const { return name_; }

 private:
  enum class Sent { kNothing, kStart, kAsk, kOther };

  // Notes that its answer differs from the one that is used.
  void Differs(const Engine::Asked& before);

  std::string name_;
  bool has_started_ = false;
  Sent sent_ = Sent::kNothing;
  std::size_t asked_ = 0;    // How many of Engine::asked() were asked,
  std::size_t refused_ = 0;  // and how many of those were checked for a refusal.
  std::size_t told_ = 0;     // How many of Engine::told() were sent.
  bool waits_ = false;       // It wants a result before it answers.
  std::string note_;         // Sent next.
};

}  // namespace tuning

#endif  // TUNING_ENGINE_CONVERSATION_H_
