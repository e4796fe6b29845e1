"""A comparison as a file: numbers for machines, tables for papers and pages."""

import csv
import io
import re
from collections.abc import Sequence

from seq2see.commands.compare.page import page
from seq2see.commands.compare.rows import COSTS, KINDS, Comparison, Row, Summary, values_of

_ENDS = ("_interval_low", "_interval_high", "_lowest", "_highest")
_TEX = {character: f"\\{character}" for character in "&%$#_{}"}
_TEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$"}


def shown(comparison: Comparison) -> list[list[str]]:
    """The table for people, heading first: the tested score in full, means of the others and of the costs."""
    metric, number = comparison.metric, comparison.rows.index(comparison.base) + 1
    others = [name for name in comparison.scores if KINDS[name].is_compared and name != metric]
    others = [*others, *COSTS]
    head = ["", "n", KINDS[metric].label, "95 % interval", "lowest", "highest"]
    tested = any(row.test for row in comparison.rows)
    head += [f"minus {number}", "95 % interval", "p (Holm)"] if tested else []
    table = [[*head, *(KINDS[name].label for name in others)]]
    for place, row in enumerate(comparison.rows, start=1):
        form, found, cells = KINDS[metric].form, row.summary(metric), ["-"] * 4
        if found is not None:
            cells = [form.format(found.mean), _span(form, found.interval), form.format(found.lowest)]
            cells.append(form.format(found.highest))
        test = ["-"] * (3 if tested else 0)
        if row.test:
            test = [form.format(row.test["difference"]), _span(form, row.test["interval"]), f"{row.test['p_holm']:.3f}"]
        means = ((KINDS[name].form, row.summary(name)) for name in others)
        rest = ["-" if own is None else form.format(own.mean) for form, own in means]
        table.append([f"{place} {row.name}", str(len(row.runs)), *cells, *test, *rest])
    return table


def _span(form: str, ends: Sequence[float] | None) -> str:
    return "-" if ends is None else " to ".join(map(form.format, ends))


def as_csv(comparison: Comparison) -> str:
    """A line for each row and for each run, with all digits; what there is none of is empty."""
    lines, names = [], (*comparison.scores, *COSTS)
    for place, row in enumerate(comparison.rows, start=1):
        own = {"row": place, **row.settings}
        found = {name: summary for name in names if (summary := row.summary(name)) is not None}
        numbers = {key: value for name, one in found.items() for key, value in _numbers(name, one).items()}
        lines.append({**own, "kind": "row", "n": len(row.runs), **numbers, **_test(row), "note": row.reason})
        for run in row.runs:
            values = {name: value for name, value in values_of(run).items() if name in names}
            lines.append({**own, "kind": "run", "run": str(run.folder), "seed": run.options.seed, **values})
    columns = ["row", "kind", *comparison.rows[0].settings, "run", "seed", "n"]
    columns += [f"{name}{end}" for name in names for end in ("", *_ENDS)]
    columns += ["difference", *(f"difference{end}" for end in _ENDS[:2]), "p", "p_holm", "note"]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _numbers(name: str, own: Summary) -> dict[str, float | str]:
    ends = (*(own.interval or ("", "")), own.lowest, own.highest)
    return {name: own.mean, **{f"{name}{end}": value for end, value in zip(_ENDS, ends, strict=True)}}


def _test(row: Row) -> dict[str, float]:
    if row.test is None:
        return {}
    ends = {f"difference{end}": value for end, value in zip(_ENDS, row.test["interval"], strict=False)}
    return {**ends, **{name: row.test[name] for name in ("difference", "p", "p_holm")}}


def as_markdown(comparison: Comparison) -> str:
    """A pipe table, and the notes."""
    head, *rows = ([cell.replace("\\", "\\\\").replace("|", "\\|") for cell in line] for line in shown(comparison))
    rule = ["---", *["---:"] * (len(head) - 1)]
    table = "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *rows))
    return table + "".join(f"\n{note}\n" for note in comparison.notes)


def as_tex(comparison: Comparison) -> str:
    r"""A tabular for a paper with \usepackage{booktabs}; the notes are comments."""
    table = shown(comparison)
    head, *rows = (" & ".join(map(_in_tex, line)) + r" \\" for line in table)
    columns = "l" + "r" * (len(table[0]) - 1)
    notes = ["% \\usepackage{booktabs}", *(f"% {note}" for note in comparison.notes)]
    lines = [*notes, f"\\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *rows, r"\bottomrule"]
    return "\n".join([*lines, r"\end{tabular}", ""])


def _in_tex(cell: str) -> str:
    escaped = "".join(_TEX.get(character, character) for character in cell)
    return re.sub(r"(?<![\w.-])-(?=\d)", "$-$", escaped)  # of a number


def as_page(comparison: Comparison) -> str:
    """One HTML file that opens offline."""
    return page(comparison, shown(comparison))


FORMATS = {".csv": as_csv, ".md": as_markdown, ".tex": as_tex, ".html": as_page}
