"""The completions that real shells offer for the program."""

import os
import pathlib
import pty
import re
import select
import signal
import tempfile
import time

from pages import output
from process import PATIENCE_SECONDS, Failure

ANSWER_SECONDS_MAX = PATIENCE_SECONDS


def commands(binary):
    """The commands and their flags, from their help, as {command: [flag]}."""
    names = re.findall(r"^  ([a-z][a-z-]*) ", output(binary, "--help"), re.MULTILINE)
    table = {name: re.findall(r"^  (--[a-z-]+)", output(binary, name, "--help", "all"),
                               re.MULTILINE)
             for name in names}
    # Its help lists them in a sentence.
    table["check-config"] += table["serve"]
    return table


def environment(binary, **others):
    """The environment in which the scripts find the program by its name."""
    return {**os.environ, "PATH": f"{binary.parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
            **others}


class Bash:
    """bash, asked as readline asks it."""

    def __init__(self, binary, folder):
        self.environment = environment(binary, HOME=folder)
        self.script = pathlib.Path(folder) / "latchkey"
        self.script.write_text(output(binary, "completion", "bash"), encoding="utf-8")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def offers(self, *words):
        code = ('source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _latchkey; '
                'printf "%s\\n" "${COMPREPLY[@]}"')
        return set(output("bash", "--norc", "-c", code, self.script, "latchkey", *words,
                          environment=self.environment).split("\n")) - {""}


class Fish(Bash):
    """fish, asked with `complete -C`."""

    def __init__(self, binary, folder):
        self.environment = environment(binary, HOME=folder)
        self.script = pathlib.Path(folder) / "latchkey.fish"
        self.script.write_text(output(binary, "completion", "fish"), encoding="utf-8")
        said = output("fish", "-n", self.script)
        if said:
            raise Failure(f"fish -n: {said}")

    def offers(self, *words):
        code = f"source {self.script}; complete -C \"latchkey {' '.join(words)}\""
        said = output("fish", "--no-config", "-c", code, environment=self.environment)
        return {line.split("\t")[0] for line in said.splitlines() if line}


class Zsh:
    """zsh on a terminal of its own, with a TAB after each line."""

    SETTINGS = """
fpath=($ZDOTDIR $fpath)
autoload -U compinit && compinit -D -u
unsetopt auto_list auto_menu beep
exec 9>$ZDOTDIR/answers
compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then
        builtin compadd "$@"
        return
    fi
    local -a hits
    builtin compadd -A hits "$@"
    (($#hits)) && print -rl -- $hits >&9
    builtin compadd "$@"
}
answered() { BUFFER=; print -r -- END >&9 }
zle -N answered
bindkey '^I' complete-word
bindkey '^T' answered
print -r -- END >&9
"""

    def __init__(self, binary, folder):
        self.folder = pathlib.Path(folder)
        self.environment = environment(binary, ZDOTDIR=folder, TERM="dumb", HOME=folder)
        script = self.folder / "_latchkey"
        script.write_text(output(binary, "completion", "zsh"), encoding="utf-8")
        said = output("zsh", "-f", "-n", script)
        if said:
            raise Failure(f"zsh -n: {said}")
        (self.folder / ".zshrc").write_text(self.SETTINGS, encoding="utf-8")
        os.mkfifo(self.folder / "answers")
        self.text = ""

    def __enter__(self):
        self.answers = os.open(self.folder / "answers", os.O_RDWR | os.O_NONBLOCK)
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.execvpe("zsh", ["zsh", "-d", "-i"], self.environment)
        self.answer()
        return self

    def __exit__(self, *_):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.terminal)
        os.close(self.answers)

    def answer(self):
        """The lines up to END. The output of the terminal is read, too, or zsh would wait."""
        end = time.monotonic() + ANSWER_SECONDS_MAX
        while "END\n" not in self.text:
            ready = select.select([self.answers, self.terminal], [], [],
                                  max(0, end - time.monotonic()))[0]
            if not ready:
                raise Failure("zsh does not answer")
            if self.terminal in ready:
                os.read(self.terminal, 65_536)
            if self.answers in ready:
                self.text += os.read(self.answers, 65_536).decode()
        lines, self.text = self.text.split("END\n", 1)
        return set(lines.split())

    def offers(self, *words):
        os.write(self.terminal, f"latchkey {' '.join(words)}\t\x14".encode())
        return self.answer()


ALL = (Bash, Zsh, Fish)


def expect(shell, words, wanted, unwanted=()):
    offers = shell.offers(*words)
    missing = set(wanted) - offers
    surplus = set(unwanted) & offers
    if missing or surplus:
        line = " ".join(("latchkey", *words))
        raise Failure(f"'{line}': {sorted(missing)} missing, {sorted(surplus)} not wanted")


def check(kind, binary):
    table = commands(binary)
    count = 0
    with tempfile.TemporaryDirectory() as folder, kind(binary, folder) as shell:
        expect(shell, [""], [*table, "help"])
        for command, flags in table.items():
            others = {flag for name in table for flag in table[name]} - set(flags)
            expect(shell, [command, "--"], [*flags, "--help"], others)
            count += len(flags)
        expect(shell, ["serve", "--eviction", ""], ["refuse", "lru"], ["--port"])
        expect(shell, ["completion", ""], ["bash", "zsh", "fish"])
        expect(shell, ["help", "ser"], ["serve"], ["compare"])
        expect(shell, ["check", "/dev/s"], ["/dev/shm/" if kind is Fish else "/dev/shm"]
               if kind is not Zsh else ["shm"])
        expect(shell, ["serve", "--port", "1", "--evic"], ["--eviction"])
        expect(shell, ["serve", "--eviction=l"], ["--eviction=lru"])
        expect(shell, ["serve", "--data=/dev/s"], ["shm"] if kind is Zsh else
               ["--data=/dev/shm" + ("/" if kind is Fish else "")])
        if kind is Bash:
            expect(shell, ["serve", "--eviction", "=", "l"], ["lru"])
            expect(shell, ["serve", "--data", "=", "/dev/s"], ["/dev/shm"])
        expect(shell, ["compare", "--strategies", "lock,spi"], ["lock,spin"])
        expect(shell, ["lock", "a", "--", "mkfif"], ["mkfifo"])
    return f"{len(table)} commands, {count} flags"
