#ifndef TOOLS_YARD_TOP_FACT_READER_H_
#define TOOLS_YARD_TOP_FACT_READER_H_

#include <memory>
#include <string>

#include "tools/yard/cli/context.h"
#include "tools/yard/top/facts.h"
#include "tools/yard/top/model.h"

namespace yard::top {

// Asks the services. One thread, but for GiveUp().
class FactReader {
 public:
  // The context outlives it.
  static std::unique_ptr<FactReader> Create(Context& context);
  virtual ~FactReader() = default;

  // All services are asked at once; blocks until they have answered, for some 3 s at most. A
  // service that does not answer keeps its last answer, and Facts::why names the first such
  // service.
  virtual Facts Read(const Subject& subject) = 0;
  // Does what was asked for and says what became of it, for a person. Blocks, for 5 s at most.
  virtual std::string Carry(const Order& order) = 0;
  // Any thread: a blocked Read() returns soon, with fewer facts.
  virtual void GiveUp() = 0;
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_FACT_READER_H_
