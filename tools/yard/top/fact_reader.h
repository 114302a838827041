#ifndef TOOLS_YARD_TOP_FACT_READER_H_
#define TOOLS_YARD_TOP_FACT_READER_H_

#include <memory>
#include <string>

#include "tools/yard/cli/context.h"
#include "tools/yard/top/facts.h"
#include "tools/yard/top/model.h"

namespace yard::top {

// Reads facts from the services. One thread, except GiveUp().
class FactReader {
 public:
  // The context must outlive the reader.
  static std::unique_ptr<FactReader> Create(Context& context);
  virtual ~FactReader() = default;

  // Calls all services in parallel and blocks until they have answered, for about 3 s at most. For
  // a service that does not answer, keeps its last answer; Facts::why names the first such
  // service.
  virtual Facts Read(const Subject& subject) = 0;
  // Carries out an order and returns the outcome in words. Blocks for at most 5 s.
  virtual std::string Carry(const Order& order) = 0;
  // Makes a blocked Read() return soon, with fewer facts. Any thread.
  virtual void GiveUp() = 0;
};

}  // namespace yard::top

#endif  // TOOLS_YARD_TOP_FACT_READER_H_
