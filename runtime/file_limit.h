#ifndef RUNTIME_FILE_LIMIT_H_
#define RUNTIME_FILE_LIMIT_H_

namespace runtime {

// Raises this process's soft limit of open files to its hard one; the usual 1024 is too little for
// many connections and files. Not for a process that starts programs of others: they would inherit
// it, and those that use select() break on large descriptors.
void RaiseFileLimit();

}  // namespace runtime

#endif  // RUNTIME_FILE_LIMIT_H_
