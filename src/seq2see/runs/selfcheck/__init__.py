"""The promises, proved on a model and pairs of the user's own: a few pairs, double precision, the CPU."""

from collections.abc import Callable

from seq2see.options import SelfcheckOptions
from seq2see.runs.folder import RunFailed
from seq2see.runs.selfcheck import checks, run_checks
from seq2see.runs.selfcheck.checks import Check, Finding
from seq2see.runs.selfcheck.fixture import Fixture
from seq2see.runs.terminal import Terminal, shortened

__all__ = ["CHECKS", "Check", "Finding", "command", "selfcheck"]

CHECKS = [own for module in (checks, run_checks) for own in vars(module).values() if isinstance(own, Check)]


def command(options: SelfcheckOptions) -> None:
    """What `scripts/selfcheck.py` does: a table of promises.

    Raises:
        RunFailed: one does not hold.
    """
    findings = selfcheck(options, show=Terminal().result)
    if num_failed := sum(not finding.passed for finding in findings):
        raise RunFailed(f"{num_failed} of {len(findings)} promises {'does' if num_failed == 1 else 'do'} not hold")


def selfcheck(options: SelfcheckOptions, *, show: Callable[[str], None] = lambda line: None) -> list[Finding]:
    """Checks every promise.

    Args:
        options: a checkpoint, or the options of a training run; then the model is a new one.
        show: called with each line of the table as soon as it is known.

    Raises:
        ValueError: the checkpoint, the options or the data are wrong.
    """
    fixture = Fixture.of(options)
    for line in (fixture.title, f"{fixture.origin}, double precision, CPU", ""):
        show(shortened(f"  {line}").rstrip())
    findings = []
    for check in CHECKS:
        findings.append(check.run(fixture))
        show("\n".join(findings[-1].lines))
    show(f"\n  {sum(finding.passed for finding in findings)} of {len(findings)} promises hold")
    return findings
