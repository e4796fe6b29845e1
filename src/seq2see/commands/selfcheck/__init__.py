"""The promises, proved on a model and pairs of the user's own: a few pairs, double precision, the CPU."""

from seq2see.commands.selfcheck.checks import CHECKS
from seq2see.commands.selfcheck.fixture import Fixture
from seq2see.options import SelfcheckOptions
from seq2see.runs.folder import RunFailed
from seq2see.runs.terminal import Terminal, shortened


def command(options: SelfcheckOptions) -> None:
    """What `scripts/selfcheck.py` does: a table of promises, of which each line comes as soon as it is known.

    Raises:
        RunFailed: one does not hold.
        ValueError: the checkpoint, the options or the data are wrong.
    """
    show, fixture = Terminal().result, Fixture.of(options)
    for line in (fixture.title, f"{fixture.origin}, double precision, CPU", ""):
        show(shortened(f"  {line}").rstrip())
    num_passed = 0
    for check in CHECKS:
        passed, lines = check.run(fixture)
        num_passed += passed
        show("\n".join(lines))
    show(f"\n  {num_passed} of {len(CHECKS)} promises hold")
    if num_passed < len(CHECKS):
        raise RunFailed(f"promises that do not hold: {len(CHECKS) - num_passed} of {len(CHECKS)}")
