#ifndef TOOLS_YARD_VERBS_VERBS_H_
#define TOOLS_YARD_VERBS_VERBS_H_

#include <memory>
#include <span>
#include <vector>

#include "tools/yard/cli/verb.h"

namespace yard {

// Returns the table of verbs; a verb that is not in it does not exist.
std::span<const VerbEntry> Verbs();

// A task of the user and the verbs for it, as `yard --help` lists them.
struct VerbGroup {
  const char* task;
  std::vector<const char*> verbs;
};
// Returns the groups. Each verb belongs to exactly one of them.
const std::vector<VerbGroup>& VerbGroups();

// Factories of the verbs; each is defined in the .cc file of its verb.
std::unique_ptr<Verb> MakeAlerts();
std::unique_ptr<Verb> MakeApply();
std::unique_ptr<Verb> MakeBackup();
std::unique_ptr<Verb> MakeCall();
std::unique_ptr<Verb> MakeCompare();
std::unique_ptr<Verb> MakeCompletion();
std::unique_ptr<Verb> MakeConfig();
std::unique_ptr<Verb> MakeDoctor();
std::unique_ptr<Verb> MakeDown();
std::unique_ptr<Verb> MakeDu();
std::unique_ptr<Verb> MakeExport();
std::unique_ptr<Verb> MakeGate();
std::unique_ptr<Verb> MakeRemote();
std::unique_ptr<Verb> MakeImport();
std::unique_ptr<Verb> MakeLaunch();
std::unique_ptr<Verb> MakeLogs();
std::unique_ptr<Verb> MakePause();
std::unique_ptr<Verb> MakePlot();
std::unique_ptr<Verb> MakePool();
std::unique_ptr<Verb> MakePs();
std::unique_ptr<Verb> MakePub();
std::unique_ptr<Verb> MakeRestart();
std::unique_ptr<Verb> MakeResume();
std::unique_ptr<Verb> MakeRm();
std::unique_ptr<Verb> MakeRun();
std::unique_ptr<Verb> MakeRuns();
std::unique_ptr<Verb> MakeSet();
std::unique_ptr<Verb> MakeShow();
std::unique_ptr<Verb> MakeSignal();
std::unique_ptr<Verb> MakeStatus();
std::unique_ptr<Verb> MakeStop();
std::unique_ptr<Verb> MakeSub();
std::unique_ptr<Verb> MakeSweep();
std::unique_ptr<Verb> MakeTop();
std::unique_ptr<Verb> MakeTopic();
std::unique_ptr<Verb> MakeTell();
std::unique_ptr<Verb> MakeTensorBoard();
std::unique_ptr<Verb> MakeTrash();
std::unique_ptr<Verb> MakeUi();
std::unique_ptr<Verb> MakeUp();
std::unique_ptr<Verb> MakeWait();
std::unique_ptr<Verb> MakeWatch();

}  // namespace yard

#endif  // TOOLS_YARD_VERBS_VERBS_H_
