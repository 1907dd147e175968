"""Everything that can happen to a training from outside, over all four families.

Claim: the final weights are bit for bit those of a run to which nothing happened, or there is a clear refusal; no
folder is unreadable, and the last good state is always intact. Each trial trains in a process of its own:

kill        SIGKILL at a random moment; every other one in the middle of a write
term        SIGTERM at a random moment: all is saved, and it resumes
full        a disk that is too small at a random moment; then it is made larger
read only   a folder that may no longer be written, from a random moment on
resumes     ten sessions in one epoch
epoch       a session that ends where an epoch does
changed     another text for the same run: refused, and what was there is as it was
"""

import faulthandler
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch
from families import Family, ask, import_all, small_families
from measure import arguments, report

import regard
from regard.files import hash_file
from regard.training import session
from regard.training.loop import Progress

STEPS, EVERY = 24, 5  # of a run, and from one score to the next
EPOCH = 12  # steps that every family's epoch has at least
DONE, REFUSED, STOPPED, BROKEN = 0, 3, 4, 5
SECONDS = 120  # that nothing here should take
DOING = {  # by the functions a process was in, the innermost first
    "_make_copy": "exporting", "_extras": "exporting", "_write_model": "exporting", "_save": "saving",
    "put": "saving", "score": "scoring", "_score": "scoring", "_finish": "scoring", "train": "stepping",
    "encode": "tokenising", "learn": "tokenising", "read": "reading", "assemble": "planning", "_train": "setting up",
}  # fmt: skip


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--terms", type=int, default=50)
    parser.add_argument("--others", type=int, default=20, help="trials of each other kind")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)  # threads of this process would be missed by its children
    kinds: dict[str, tuple[Callable[[Trial], str], int]] = {
        "kill": (kill, given.kills), "term": (term, given.terms), "full": (full_disk, given.others),
        "read only": (read_only, given.others), "resumes": (ten_resumes, given.others),
        "epoch": (epoch_end, given.others), "changed": (changed_text, given.others),
    }  # fmt: skip
    outcomes: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        place.chmod(0o755)  # a child that gives its rights up still reads the text
        families = list(small_families(place).values())
        import_all(families, place)  # children start fast, and those without rights start at all
        whole = {family.task: Whole.of(family, place) for family in families}
        for kind, (fault, count) in kinds.items():
            outcomes[kind] = Counter()
            for number in range(count):
                family = families[number % len(families)]
                to = place / f"{kind.replace(' ', '-')}-{number}"
                outcome = fault(Trial(family, to, whole[family.task], random.Random(f"{given.seed} {kind} {number}")))
                outcomes[kind][outcome] += 1
                if outcome.startswith("LOST"):
                    print(kind, number, family.task, outcome, flush=True)
            print(kind, dict(outcomes[kind]), flush=True)
    lost = sum(count for counter in outcomes.values() for name, count in counter.items() if name.startswith("LOST"))
    report({"trials": {kind: dict(counter) for kind, counter in outcomes.items()}, "lost": lost}, given.json)
    if lost:
        sys.exit("a run was lost or changed")


class Whole:
    """A run to which nothing happened."""

    def __init__(self, weights: tuple[str, ...], seconds: float) -> None:
        self.weights, self.seconds = weights, seconds

    @classmethod
    def of(cls, family: Family, place: Path) -> "Whole":
        to = place / f"whole-{family.task}"
        began = time.perf_counter()
        assert finish(sit(family, to)) == DONE
        return cls(fingerprint(to), time.perf_counter() - began)


class Trial:
    """One run to which something happens."""

    def __init__(self, family: Family, to: Path, whole: Whole, rng: random.Random) -> None:
        self.family, self.to, self.whole, self.rng = family, to, whole, rng
        self.moment = rng.uniform(0.0, whole.seconds)

    def went_on(self, what: str) -> str:
        """Opens what was left, lets the run finish, and compares."""
        if not is_readable(self.to):
            return f"LOST: unreadable after {what}"
        if (code := finish(sit(self.family, self.to))) != DONE:
            return f"LOST: ended with {code} after {what}"
        return f"identical after {what}" if fingerprint(self.to) == self.whole.weights else f"LOST: other after {what}"


def kill(trial: Trial) -> str:
    child = sit(trial.family, trial.to)
    time.sleep(trial.moment)
    if trial.rng.random() < 0.5 and wait_until(lambda: is_writing(trial.to) or is_over(child), trial.whole.seconds):
        what = "a write" if is_writing(trial.to) else "the end"
    else:
        what = doing(child, trial.to)
    os.kill(child, signal.SIGKILL)
    return trial.went_on(f"being killed in {what}" if finish(child) != DONE else "the end")


def term(trial: Trial) -> str:
    child = sit(trial.family, trial.to)
    time.sleep(trial.moment)
    what = doing(child, trial.to)
    os.kill(child, signal.SIGTERM)
    code = finish(child)
    if code not in {DONE, STOPPED, -signal.SIGTERM}:
        return f"LOST: SIGTERM in {what} ended with {code}"
    return trial.went_on(f"SIGTERM in {what}")


def full_disk(trial: Trial) -> str:
    """A file system of some kilobytes, later of enough."""
    trial.to.mkdir()
    size = trial.rng.randrange(20_000, 2_000_000)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", trial.to], check=True)
    try:
        code = finish(sit(trial.family, trial.to / "m"))
        if code not in {DONE, REFUSED}:
            return f"LOST: {size} bytes ended with {code}"
        subprocess.run(["mount", "-o", "remount,size=64m", trial.to], check=True)
        trial.to = trial.to / "m"
        return trial.went_on("a full disk" if code == REFUSED else "a disk just large enough")
    finally:
        subprocess.run(["umount", "--lazy", trial.to if trial.to.name != "m" else trial.to.parent], check=True)


def read_only(trial: Trial) -> str:
    """A user other than root trains, and loses the permissions of the folder."""
    trial.to.mkdir()
    os.chown(trial.to, 65534, 65534)
    child = sit(trial.family, trial.to, user=65534)
    time.sleep(trial.moment)
    for folder in (trial.to, trial.to / "run", trial.to / "run" / "state"):
        if folder.exists():
            folder.chmod(0o555)
    code = finish(child)
    for folder in (trial.to, *(path for path in trial.to.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    if code not in {DONE, REFUSED}:
        return f"LOST: a folder that is read only ended with {code}"
    return trial.went_on("a folder that was read only" if code == REFUSED else "the end")


def ten_resumes(trial: Trial) -> str:
    for step in sorted(trial.rng.sample(range(1, EPOCH), 10)):
        if (code := finish(sit(trial.family, trial.to, stop_at=step))) != STOPPED:
            return f"LOST: a session ended with {code}"
    return trial.went_on("ten resumes")


def epoch_end(trial: Trial) -> str:
    """Where an epoch ends is known from the plan."""
    if (code := finish(sit(trial.family, trial.to, stop_at=0))) != STOPPED:
        return f"LOST: a session ended with {code}"
    return trial.went_on("an epoch's end")


def changed_text(trial: Trial) -> str:
    """One letter more, less or other than when the run was begun."""
    finish(sit(trial.family, trial.to, stop_at=trial.rng.randrange(1, STEPS)))
    before = {path: hash_file(path) for path in trial.to.rglob("*") if path.is_file()}
    role, path = trial.rng.choice(list(trial.family.files.items()))
    text = path.read_text()
    place = trial.rng.choice([place for place, letter in enumerate(text) if letter in "aeiou"])
    changed = trial.to.parent / f"changed-{trial.to.name}"
    changed.write_text(text[:place] + trial.rng.choice(["", "u", text[place] * 2]) + text[place + 1 :])
    if changed.read_text() == text:
        return changed_text(trial)
    other = Family(trial.family.task, trial.family.files | {role: changed})
    if (code := finish(sit(other, trial.to))) != REFUSED:
        return f"LOST: another text ended with {code}"
    if {path: hash_file(path) for path in trial.to.rglob("*") if path.is_file()} != before:
        return "LOST: a refusal left something changed"
    return trial.went_on("another text, refused")


def sit(family: Family, to: Path, *, stop_at: int | None = None, user: int | None = None) -> int:
    """Another process trains; its number. stop_at: after this step, or 0 for where the first epoch ends."""
    child = os.fork()
    if child:
        return child
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    if user is not None:
        os.setuid(user)
    else:
        faulthandler.register(signal.SIGUSR1, file=(to.parent / f"{to.name}.doing").open("w"), all_threads=False)
    try:
        if stop_at is None:
            family.train(to, STEPS, valid_every=EVERY)
        elif not _train_until(family, to, stop_at):
            os._exit(DONE)
        os._exit(DONE if stop_at is None else STOPPED)
    except regard.RegardError:
        os._exit(REFUSED)
    except KeyboardInterrupt:
        os._exit(STOPPED)
    except BaseException as problem:
        print(f"{type(problem).__name__}: {str(problem)[:300]}", flush=True)
        os._exit(BROKEN)


def _train_until(family: Family, to: Path, step: int) -> bool:
    """Trains up to a step; whether there was one."""
    settings = family.settings(STEPS, valid_every=EVERY)
    for event in regard.training(family.task, to=to, settings=settings, **family.files):
        if isinstance(event, session.Plan):
            assert EPOCH <= event.batches_per_epoch < STEPS
            step = step or event.batches_per_epoch
        elif isinstance(event, Progress) and event.step >= step:
            return True
    return False


def finish(child: int) -> int:
    """Waits for a process; its exit code, or the signal that ended it with a minus."""
    ended = [0, 0]

    def is_ended() -> bool:
        ended[:] = os.waitpid(child, os.WNOHANG)
        return bool(ended[0])

    if not wait_until(is_ended, SECONDS):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return BROKEN
    return os.waitstatus_to_exitcode(ended[1])


def wait_until(is_so: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.0002)
    return True


def is_over(child: int) -> bool:
    return Path(f"/proc/{child}/stat").read_text().split(") ")[1].startswith("Z")


def is_writing(to: Path) -> bool:
    """Whether a file or a model is half written just now."""
    try:
        return any((to / name).exists() for name in (".new", ".ready", ".old")) or any(to.rglob("*.unfinished"))
    except FileNotFoundError:  # it was renamed while we looked
        return False


def doing(child: int, to: Path) -> str:
    """What a process is in the middle of, by the functions it is in."""
    dump = to.parent / f"{to.name}.doing"
    if not dump.exists():
        return "beginning"
    os.kill(child, signal.SIGUSR1)
    wait_until(lambda: dump.stat().st_size > 0 or is_over(child), 2.0)
    functions = [line.split()[-1] for line in dump.read_text().splitlines() if " in " in line]
    return next((DOING[name] for name in functions if name in DOING), "beginning")


def is_readable(to: Path) -> bool:
    """A folder that holds a model opens, in another process; one that holds none yet says so."""
    if not (to / "regard.json").exists() and not (to / ".ready").exists():
        return True
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            ask(to)
            os._exit(DONE)
        except BaseException as problem:
            print(f"{type(problem).__name__}: {str(problem)[:300]}", flush=True)
            os._exit(BROKEN)
    return finish(child) == DONE


def fingerprint(to: Path) -> tuple[str, ...]:
    """The published model, and the checkpoint that the next session would resume from."""
    state = max((to / "run" / "state").glob("weights-*.safetensors"))
    return hash_file(to / "model.safetensors"), hash_file(state), state.name


if __name__ == "__main__":
    main()
