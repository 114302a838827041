#ifndef TUNING_ENGINE_CONVERSATION_H_
#define TUNING_ENGINE_CONVERSATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tuning/engine/engine.h"

namespace tuning {

// A conversation with an external optimiser, in lines of JSON (docs/sweeps.md). The optimiser
// answers each line with one line:
//
//   {"t":"start","v":1,"seed":7,"space":{...},      {"t":"ready"}
//    "objectives":[...],"options":{...}}
//   {"t":"ask","id":12}                             {"t":"config","config":{...}}, {"t":"wait"}
//   (for
//                                                   results), or {"t":"end","reason":"..."}
//   {"t":"tell","id":12,"state":"done",...}         {"t":"ok"}
//   {"t":"add","state":"done",...}                  {"t":"ok"}
//   {"t":"note","text":"..."}                       {"t":"ok"}
//
// The events of the engine alone decide the lines and their order: a result comes before the
// questions that were asked after it. So a new program, which hears all lines from the beginning,
// gives the same answers if it decides by them and its seed. An answer that differs from the one
// of the program before is not used, and a note tells the new program so. One thread at a time.
class Conversation {
 public:
  // The next line; nothing: the engine asks for nothing, or the optimiser waits for results. The
  // line before it has been answered.
  std::optional<std::string> Next(const Engine& engine);

  // The meaning of the answer to that line.
  struct Answer {
    enum class Kind {
      kHeard,      // Nothing.
      kSuggested,  // text: the configuration.
      kRefused,    // text: why its suggestion cannot be tried.
      kExhausted,  // text: why; empty: it gives no reason.
      kBroken,     // text: what is wrong. It cannot be gone on with.
    };
    Kind kind = Kind::kHeard;
    std::string text = {};
    std::uint64_t trial = 0;  // The question's trial and number, for the event.
    std::uint64_t number = 0;
  };
  Answer Take(const Engine& engine, std::string_view line);

  // It waits for results, and no trial runs that could have one.
  bool IsStuck(const Engine& engine) const;
  // How the optimiser calls itself; empty: it has not said so.
  const std::string& name() const { return name_; }

 private:
  enum class Sent { kNothing, kStart, kAsk, kOther };

  // Its answer is another one than that which is used.
  void Differs(const Engine::Asked& before);

  std::string name_;
  bool has_started_ = false;
  Sent sent_ = Sent::kNothing;
  std::size_t asked_ = 0;    // So many of Engine::asked() have been asked,
  std::size_t refused_ = 0;  // and so many of those were looked at for a refusal.
  std::size_t told_ = 0;     // So many of Engine::told() have been told.
  bool waits_ = false;       // It wants a result before it answers.
  std::string note_;         // To be told next.
};

}  // namespace tuning

#endif  // TUNING_ENGINE_CONVERSATION_H_
