"""The man page yard.1, from what each verb says of itself.

    python3 -m tools.references.man_page YARD

prints it; YARD is the program. tools/install puts it into PREFIX/share/man/man1.
"""

import sys

from tools.references import pages

_DESCRIPTION = """Trainyard starts training programs in any language, keeps them alive, and stores what they report in files that
TensorBoard reads, too. Five services do that, which
.B yard up
starts. All that a person does with them is a verb of
.BR yard ."""
_EXIT_STATUS = (("0", "done"), ("1", "the thing failed: a trial, a job, a check"), ("2", "wrong words"),
                ("3", "there is no such thing, or the name is ambiguous"), ("4", "a service cannot be reached"),
                ("5", "the time ran out"), ("6", "refused in this state"), ("130", "interrupted"),
                ("255", "with --at: no yard was reached, or the connection broke"))
_ENVIRONMENT = (("YARD_STATE", "the state directory: databases, jobs, logs"),
                ("XDG_STATE_HOME", "the state directory is trainyard below it, if YARD_STATE is not set "
                                   "(default: ~/.local/state)"),
                ("XDG_RUNTIME_DIR", "sockets are in yard below it"),
                ("YARD_REGISTRY", "the address of the registry, if it is elsewhere"),
                ("YARD_AT", "the machine whose yard is meant, as with --at"),
                ("YARD_SSH", "ssh for --at, with words of one's own (default: ssh)"))
_FILES = (("~/.local/state/trainyard", "the state directory, unless the environment names another"),
          ("/var/lib/trainyard-machine", "locks by which the yards of all users of a machine share its GPUs"))


def text_of(text):
    """A line or several as roff prints them as they are."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in lines)


def man_page(yard):
    """The whole page."""
    version = pages.run(yard, "--version").split()[-1]
    parts = ['.TH YARD 1 "" "Trainyard %s" "Trainyard"' % text_of(version),
             ".SH NAME", "yard \\- " + text_of("runs training programs, keeps what they report, and shows it"),
             ".SH SYNOPSIS", ".B yard\n.I VERB\n[options] [words]", ".SH DESCRIPTION", _DESCRIPTION,
             ".SH OPTIONS AND VERBS", _as_it_is(pages.run(yard, "--help"))]
    for verb in pages.verbs(yard):
        parts += [".SS yard " + text_of(verb), _as_it_is(pages.run(yard, verb, "--help"))]
    for title, rows in (("EXIT STATUS", _EXIT_STATUS), ("ENVIRONMENT", _ENVIRONMENT), ("FILES", _FILES)):
        parts.append(".SH " + title)
        parts += [".TP\n.B %s\n%s" % (text_of(name), text_of(what)) for name, what in rows]
    return "\n".join(parts) + "\n"


def _as_it_is(text):
    return ".nf\n%s\n.fi" % text_of(text.strip("\n"))


if __name__ == "__main__":
    sys.stdout.write(man_page(sys.argv[1]))
