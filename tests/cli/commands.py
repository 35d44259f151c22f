# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks every command line in the documents: a test runs it, or it names only what is there. Prints TAP.

    commands.py TREE LIST

Lines are taken from the code blocks of all documents and manual pages, and from texts between backquotes that begin with a
command. A block below "<!-- run: TEST -->" is run by that test, which must name the page. LIST has rows of a pattern, a test
and a text that is in this test: what runs the commands of that pattern. Every other line must be of a kind that is checked
here: commands, their options and settings by the programs themselves. A line of no such kind is an error.
"""
import functools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

TREE = Path(sys.argv[1]).resolve()
sys.path.insert(0, str(TREE / "docs/site"))
sys.dont_write_bytecode = True
from markdown_lines import read_lines  # noqa: E402

POPPA = os.environ["POPPA"]
PARSE = os.environ["PARSE"]
# Programs of the suite beside the command itself.
OWN = {"poppa": POPPA, "poppad": os.environ["POPPAD"], "poppa-ledgerd": str(Path(os.environ["POPPAD"]).parent / "poppa-ledgerd")}
SUBMIT = {"sbatch", "srun", "salloc"}
# sacct says nothing without a database: a row of LIST has to name the test that runs it with its options.
SLURM = SUBMIT | {"scontrol", "sacct", "sacctmgr", "squeue", "sinfo", "sreport", "sshare"}
# Languages of fenced code in which no command is written.
NO_COMMANDS = {"text", "json", "csv", "yaml"}
# What any make of Automake knows, and any configure of Autoconf.
TARGETS = {"all", "check", "install", "uninstall", "clean", "dist", "distcheck"}
CONFIGURE = {"prefix", "sysconfdir", "localstatedir", "libdir", "disable-static"}
INLINE = re.compile(r"(poppa|poppad|poppa-ledgerd|make|systemctl|" + "|".join(SLURM) + r"|(\.\./|\./)?(tests|contrib)/[\w./-]+) ")
SETTING = re.compile(r"\b(?:poppa|stripe)_[a-z_]*[a-z]=[^\s`]*")
WORD = re.compile(r"\[?\.\.\.\]?|[\[\]]")  # what a synopsis has beside the command itself

skipped = set()


def run(*command):
    with tempfile.TemporaryDirectory() as home:
        # Slurm's programs tell their options only where there is a configuration.
        conf = Path(home, "slurm.conf")
        conf.write_text("ClusterName=c\nSlurmctldHost=localhost\nNodeName=n1\nPartitionName=p Nodes=n1\n"
                        "AccountingStorageType=accounting_storage/slurmdbd\n", encoding="utf-8")
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=home, stdin=subprocess.DEVNULL,
                              env={**os.environ, "SLURM_CONF": str(conf), "POPPA_SANDBOX": home,
                                   "POPPA_SANDBOX_BUILD": str(Path(POPPA).parent)}, check=False)
    return done.stdout + done.stderr


@functools.lru_cache(maxsize=None)
def help_of(*command):
    return run(*command, "--help")


@functools.lru_cache(maxsize=None)
def text_of(path):
    return (TREE / path).read_text(encoding="utf-8", errors="replace")


@functools.lru_cache(maxsize=None)
def all_texts(*patterns):
    return "\n".join(text_of(p.relative_to(TREE)) for pattern in patterns for p in sorted(TREE.glob(pattern)) if p.is_file())


def installed(program):
    return any(os.access(os.path.join(d, program), os.X_OK) for d in os.environ["PATH"].split(":"))


def has_option(text, option):
    """Whether a usage text names it: "--nodes", or "-N" with a sign or a blank around."""
    return re.search(r"(?<![\w-])" + re.escape(option) + r"(?![\w-])", text) is not None


def options(words):
    """The options among the words, without values; what follows "--" is another command's."""
    for word in words:
        if word == "--":
            return
        if re.match(r"--[a-z]", word):
            yield re.split(r"[=\[]", word)[0]
        elif re.match(r"-[A-Za-z]", word):
            yield word[:2]


def settings_error(text):
    """What the parser of PrEpParameters says; alternatives are parsed one by one, and what stands for a value is not."""
    for setting in text.lstrip(".,").split(","):
        name, _, value = setting.partition("=")
        if re.match(r"(poppa|stripe)_", name) and not re.fullmatch(r"[A-Z][A-Z:%]*(\[.*)?", value.rstrip(".;:)")) and value:
            for one in value.rstrip(".;:)").split("|"):
                said = subprocess.run([PARSE, "settings", f"{name}={one}"], capture_output=True, text=True, check=False)
                if said.returncode:
                    return said.stdout.strip()
        elif re.match(r"(poppa|stripe)_", name) and f'"{name}"' not in text_of("src/common/settings.c"):
            return f"{name} is no setting"
    return None


def colocate_error(words):
    for word in words:
        if word == "--":
            return None
        key, sign, value = word.partition("=")
        if key == "--colocate" and sign and not re.match(r"KEY\b", value):
            said = subprocess.run([PARSE, "colocate", value], capture_output=True, text=True, check=False)
            if said.returncode:
                return said.stdout.strip()
    return None


def check_poppa(name, words):
    if not os.access(OWN[name], os.X_OK):
        return f"{OWN[name]} is not built"
    command = [OWN[name]]
    if name == "poppa" and words and not words[0].startswith("-"):
        if not re.search(rf"^  {re.escape(words[0])} ", help_of(POPPA), re.M):
            return f"poppa has no command {words[0]}"
        command.append(words[0])
        words = words[1:]
    usage = help_of(*command)
    for option in options(words):
        if has_option(usage, option):
            continue
        if command[1:] == ["advise"]:
            return check_slurm("sbatch", words)
        return f"{' '.join([name] + command[1:])} has no option {option}"
    actions = re.findall(r"poppa ledger \[OPTION...\] ([a-z]+)", usage)
    if actions and words and not [w for w in words if w in actions]:
        return f"poppa ledger has no such action; it has {', '.join(actions)}"
    return colocate_error(words)


def check_slurm(name, words):
    wrong = colocate_error(words)
    if wrong:
        return wrong
    if name == "sacct" and list(options(words)):
        return "no test is named that runs it"
    if not installed(name):
        skipped.add(name)
        return None
    usage = help_of(name)
    # The program that a step runs has options of its own.
    own, program, rest = [], [], iter(words)
    for word in rest:
        if name in {"srun", "salloc"} and not word.startswith("-"):
            program = [word, *rest]
            break
        own.append(word)
        if re.fullmatch(r"-[NncptJwo]", word):
            next(rest, None)
    for option in options(own):
        if option != "--colocate" and not has_option(usage, option):
            return f"{name} has no option {option}"
    if program and program[0] in OWN:
        return check_command(program)
    if name == "scontrol":
        verbs = [w for w in words if not w.startswith("-")]
        if verbs and not re.search(rf"\b{re.escape(verbs[0])}\b", usage):
            return f"scontrol has no command {verbs[0]}"
    return None


def check_systemctl(words):
    names = [w for w in words if not w.startswith("-")]
    if not names or names[0] not in {"start", "stop", "restart", "enable", "disable", "edit", "status", "reload", "daemon-reload"}:
        return "what does systemctl do here?"
    services = re.search(r"^services=\((.*)\)", text_of("contrib/sandbox/install-deps"), re.M)[1].split()
    for unit in names[1:]:
        file = unit if "." in unit else unit + ".service"
        if unit not in services and not (TREE / "etc" / file).exists() and not (TREE / "etc" / (file + ".in")).exists():
            return f"there is no unit {unit}"
    return None


def check_make(words):
    rules = all_texts("Makefile.am", "**/local.mk", "**/*.mk")
    for word in words:
        if word.startswith("-") or "=" in word:
            continue
        if word not in TARGETS and not re.search(rf"^{re.escape(word)}:", rules, re.M) and not re.search(rf"\b{re.escape(word)}\b", rules):
            return f"make has no target {word}"
    return None


def check_configure(words):
    for option in options(words):
        name = option[2:]
        feature = re.sub(r"^(with|without|enable|disable)-", "", name)
        if name not in CONFIGURE and f"[{feature}]" not in all_texts("configure.ac", "m4/poppa*.m4"):
            return f"configure has no option {option}"
    return None


def check_script(path, words):
    if re.search(r"[A-Z]{2,}|\*", path):
        return None  # a pattern for names, which tests/lint looks at
    sources = [p for p in (path + ".c", path + ".f90") if (TREE / p).exists()]
    if sources:
        usage = text_of(sources[0])
        missing = [o for o in options(words) if o not in usage and f'"{o.lstrip("-")}"' not in usage]
        return f"{path} has no option {missing[0]}" if missing else None
    if not (TREE / path).exists():
        return f"there is no {path}"
    if (TREE / path).is_dir() or not words and re.search(r"\.(?!t$)\w+$", path):
        return None
    if not os.access(TREE / path, os.X_OK):
        return f"{path} cannot be executed"
    if path == "contrib/sandbox/env":
        rest = words[2:] if words[:1] == ["-u"] else words
        return check_command(rest) if rest and not re.fullmatch("[A-Z]+", rest[0]) else None
    for option in options(words):
        if option not in {"-h", "--help"} and not has_option(help_of(str(TREE / path)), option):
            # What a script passes on to another that its usage names.
            passed_on = [p for p in re.findall(r"tests/[\w/.-]+\w", help_of(str(TREE / path))) if p != path and (TREE / p).is_file()]
            if not any(has_option(help_of(str(TREE / p)), option) for p in passed_on if os.access(TREE / p, os.X_OK)):
                return f"{path} has no option {option}"
    return None


def check_export(words):
    for word in words:
        name = word.partition("=")[0]
        if not re.search(rf"\b{name}\b", all_texts("contrib/**/*", "tests/*", "tests/*/*")):
            return f"nothing reads {name}"
    return None


def check_image(words):
    """podman build: its file, its target and its arguments are there."""
    if words[:1] != ["build"] or "-f" not in words or not (TREE / words[words.index("-f") + 1]).is_file():
        return "podman build needs -f and a file of the tree"
    text = text_of(words[words.index("-f") + 1])
    for option, value in zip(words, words[1:]):
        if option == "--target" and not re.search(rf"^FROM .* AS {value}$", text, re.M | re.I):
            return f"the file has no target {value}"
        if option == "--build-arg" and not re.search(rf"^ARG {value.partition('=')[0]}\b", text, re.M):
            return f"the file has no argument {value}"
    return None


def check_configuration(line):
    """A line of slurm.conf, plugstack.conf or poppa.conf; None where it is none of them."""
    key, sign, value = line.partition("=")
    if sign and re.fullmatch(r"[A-Z][A-Za-z]+", key):
        if key == "PrEpParameters":
            return settings_error(value) or ""
        example = "".join(text_of(p.relative_to(TREE)) for p in TREE.glob("etc/*.example*"))
        return "" if re.search(rf"^#? *{key}=", example, re.M) else f"no example in etc/ has {key}"
    plugin = re.fullmatch(r"(?:required|optional) \S*/(\w+)\.so( .*)?", line)
    if plugin:
        return "" if f"poppaplugin_LTLIBRARIES += {plugin[1]}.la" in all_texts("src/plugins/*/local.mk") else f"no plugin is named {plugin[1]}"
    return None


def check_command(words):
    """Returns None, or what is wrong with the command."""
    while words and re.match(r"[A-Za-z_]+=", words[0]):
        words = words[1:]
    if not words:
        return None
    name, rest = words[0], words[1:]
    path = re.sub(r"^(\.\./|\./)+", "", name)
    if name in OWN:
        return check_poppa(name, rest)
    if name in SLURM:
        return check_slurm(name, rest)
    if name == "systemctl":
        return check_systemctl(rest)
    if name == "make":
        return check_make(rest)
    if name == "podman":
        return check_image(rest)
    if name in {"cd", "mkdir"}:
        return None if rest and not any(w.startswith("/") for w in rest) else f"no test runs {name} {' '.join(rest)}"
    if name == "export":
        return check_export(rest)
    if path == "configure":
        return check_configure(rest)
    if path == "autogen.sh" or re.match(r"(tests|contrib)/", path):
        return check_script(path, rest)
    if (TREE / "contrib/workloads" / (name + ".c")).exists():
        return check_script("contrib/workloads/" + name, rest)
    return f"nothing is known of the command {name}: name the test that runs it"


def check_line(line):
    wrong = check_configuration(line)
    if wrong is not None:
        return wrong or None
    for setting in SETTING.findall(line):
        wrong = settings_error(setting)
        if wrong:
            return wrong
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError as error:
        return f"cannot be read: {error}"
    command, redirected = [], False
    for token in tokens + [";"]:
        if re.fullmatch(r"[|&;]+", token):
            wrong = check_command(command)
            if wrong:
                return wrong
            command = []
        elif re.fullmatch(r"[<>]+", token):
            redirected = True
        elif redirected:
            redirected = False
        else:
            command.append(token)
    return None


def joined(lines):
    """Lines of a block as commands: prompts and comments are no part of them, and a backslash joins two."""
    prompts = any(re.match(r"[$#] \S", text) and text.startswith("$ ") for _, text in lines)
    kept, number = "", 0
    for at, text in lines:
        if not kept:
            if prompts and not re.match(r"[$#] ", text):
                continue
            text = re.sub(r"^[$#] ", "", text) if prompts else text
            number = at
        kept += text.strip()
        if kept.endswith("\\"):
            kept = kept[:-1] + " "
            continue
        line = re.sub(r"(^|\s+)#\s.*", "", kept)
        # Brackets of a synopsis: "[--json]".
        line = re.sub(r"\[(?=-)|(?<=[\w.])\](?=\s|$)", "", line)
        kept = ""
        if line:
            yield number, line


def blocks_of(page):
    """Yields (lines, test): a block's numbered lines, and the test that its marker names, or None."""
    block, language, marker = [], None, None
    for kind, number, _, rest in read_lines(text_of(page)):
        if kind in {"code", "fenced"}:
            block.append((number, rest if kind == "fenced" else rest[4:]))
            continue
        if kind == "fence":
            if language is None:
                language = rest.strip("`~ ")
                continue
        elif not rest.strip():
            continue
        if block:
            if (language or "") not in NO_COMMANDS or marker:
                yield block, marker, language or ""
            block, marker = [], None
        if kind == "fence":
            language = None
        found = re.match(r"<!-- run: (.+) -->", rest)
        if kind == "prose":
            marker = found[1] if found else None
    if block:
        yield block, marker, ""


def marked(page, test):
    """A block that a test runs: the test is there and names the page. A place, such as "node", is for tests/install."""
    path = test.split()[0] if "/" in test else "tests/install"
    if not (TREE / path).is_file():
        return f"there is no {path}"
    return None if page in text_of(path) or Path(page).name in text_of(path) else f"{path} does not name {page}"


def manual_lines(page):
    """Lines of a manual page's examples that begin with a prompt."""
    in_block = False
    for number, line in enumerate(text_of(page).split("\n"), 1):
        if re.match(r"\.(nf|EX)", line):
            in_block = True
        elif re.match(r"\.(fi|EE)", line):
            in_block = False
        elif in_block and re.match(r"[$#] \S", line) and (line.startswith("$") or re.match(r"# poppa", line)):
            yield number, line[2:].replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")


def main():
    rows = []
    for line in Path(sys.argv[2]).read_text(encoding="utf-8").split("\n"):
        if line and not line.startswith("#"):
            rows.append(line.split("\t"))
    used = [False] * len(rows)
    points = failed = 0

    def point(name, wrong):
        nonlocal points, failed
        points += 1
        print(f"{'not ' if wrong else ''}ok {points} - {name}")
        if wrong:
            failed += 1
            print("\n".join("# " + line for line in wrong))

    def check(page, number, line, faults):
        for i, row in enumerate(rows):
            if re.fullmatch(row[0], line):
                used[i] = True
                return
        wrong = check_line(line)
        if wrong:
            faults.append(f"{page}:{number}: {line}: {wrong}")

    pages = ["README.md", "CONTRIBUTING.md", "PLATFORMS.md"]
    for pattern in ("docs/*.md", "docs/results/*.md", "contrib/*/README.md", "tests/*/README.md"):
        pages += sorted(p.relative_to(TREE).as_posix() for p in TREE.glob(pattern))
    total = 0
    for page in pages:
        faults, count = [], 0
        for block, test, language in blocks_of(page):
            if test:
                count += len(block)
                wrong = marked(page, test)
                if wrong:
                    faults.append(f"{page}:{block[0][0]}: {wrong}")
            elif language in {"c", "fortran"}:
                faults.append(f"{page}:{block[0][0]}: no test compiles this program")
            else:
                for number, line in joined(block):
                    count += 1
                    check(page, number, line, faults)
        for kind, number, _, rest in read_lines(text_of(page)):
            if kind != "prose":
                continue
            for span in re.findall(r"`([^`]+)`", rest):
                if INLINE.match(span + " "):
                    count += 1
                    check(page, number, WORD.sub("", span).strip(), faults)
                else:
                    for setting in SETTING.findall(span):
                        count += 1
                        wrong = settings_error(setting)
                        if wrong:
                            faults.append(f"{page}:{number}: {span}: {wrong}")
        total += count
        if count:
            point(f"{page}: {count} commands and settings are run by tests or are what there is", faults)
    for path in sorted((TREE / "src").rglob("*.[1-8]")) + sorted((TREE / "src").rglob("*.[1-8].in")):
        page, faults, count = path.relative_to(TREE).as_posix(), [], 0
        for number, line in manual_lines(page):
            count += 1
            check(page, number, re.sub(r"\s+#\s.*", "", line), faults)
        total += count
        if count:
            point(f"{page}: {count} examples are run by tests or are what there is", faults)
    for row, seen in zip(rows, used):
        test = row[1] if len(row) == 3 else ""
        wrong = [] if len(row) == 3 else [f"a row has a pattern, a test and a text, with tabs between them: {row}"]
        if not seen:
            wrong.append("no document has such a command: delete the row")
        if test and not (TREE / test).is_file():
            wrong.append(f"there is no {test}")
        elif test and row[2] not in text_of(test):
            wrong.append(f"{test} does not have: {row[2]}")
        point(f"{row[0]} is run by {test}", wrong)
    point("the documents have many commands", [] if total >= 200 else [f"only {total} were found"])
    for program in sorted(skipped):
        points += 1
        print(f"ok {points} - options of {program} # SKIP {program} is not installed")
    print(f"1..{points}")
    sys.exit(1 if failed else 0)


main()
