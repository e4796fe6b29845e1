"""The Chinese pages show the code, commands, names, figures and links of the English ones, and add one section."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.zh-CN.md"), *(ROOT / "src").rglob("*.zh-CN.md")]
ADDED = re.compile(r"^## 中文数据\n.*?(?=^## )", flags=re.MULTILINE | re.DOTALL)

FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", flags=re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:python|pip|pytest|echo|torchrun|seq2see) (?:\\\n|[^#\n])+")
NAME = re.compile(r"[\w.-]+(?:/|=\w*|\.[a-z]+)", flags=re.ASCII)
FIGURE = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*", flags=re.ASCII)


def shown(text: str) -> dict[str, list[int]]:
    """What is the same in every language, each with the numbers of the lines where it stands."""
    text = ADDED.sub(as_many_lines, text).replace(".zh-CN.md", ".md")
    found: dict[str, list[int]] = defaultdict(list)

    def take(kind: str, pattern: str | re.Pattern[str], inside: str, first_line: int = 1) -> str:
        for match in re.finditer(pattern, inside):
            words = " ".join((match[1] if match.re.groups else match[0]).split())
            found[f"{kind} {words}"].append(first_line + inside[: match.start()].count("\n"))
        return re.sub(pattern, lambda match: as_many_lines(match) or " ", inside)

    for block in FENCED.finditer(text):
        line = text[: block.start()].count("\n") + 2
        if block[2] == "python":
            take("code", r".*\S", block[3], line)
        else:
            rest = take("command", COMMAND, block[3], line)
            take("figure", FIGURE, take("name", NAME, rest, line), line)
    prose = take("code", r"`([^`]+)`", FENCED.sub(as_many_lines, text))
    prose = take("link", r"\]\(([^)#]*)[^)]*\)", prose)
    take("figure", FIGURE, prose)
    found.pop("link README.md", None)  # from one language to the other
    return found


def as_many_lines(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def differences(english: str, chinese: str) -> list[str]:
    """One line for each thing that stands more often in one page than in the other."""
    one, other = shown(english), shown(chinese)
    return [
        f"{'the Chinese' if len(one[what]) > len(other[what]) else 'the English'} page lacks {what} "
        f"(English lines {one[what]}, Chinese lines {other[what]})"
        for what in sorted({*one, *other})
        if len(one[what]) != len(other[what])
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_both_languages_show_the_same(page: Path) -> None:
    english = page.with_name(page.name.replace(".zh-CN", ""))
    lacking = differences(english.read_text(encoding="utf-8"), page.read_text(encoding="utf-8"))
    assert not lacking, "\n".join([f"{english.relative_to(ROOT)} and {page.name} differ:", *lacking])


def test_what_only_one_language_shows_is_named_with_its_lines() -> None:
    english = "# Results\n\n| `a` | 0.982 |\n```\npython scripts/train.py seed=1  # again\n```\n"
    chinese = "# 结果\n| `a` | 0.981 |\n## 中文数据\n7 `b`\n## 结束\n```\npython scripts/train.py seed=1  # 再来\n```\n"

    assert differences(english, chinese) == [
        "the English page lacks figure 0.981 (English lines [], Chinese lines [2])",
        "the Chinese page lacks figure 0.982 (English lines [3], Chinese lines [])",
    ]
    assert differences(english, chinese.replace("seed=1", "seed=2").replace("0.981", "0.982")) == [
        "the Chinese page lacks command python scripts/train.py seed=1 (English lines [5], Chinese lines [])",
        "the English page lacks command python scripts/train.py seed=2 (English lines [], Chinese lines [7])",
    ]


def test_the_amounts_of_the_added_section_are_written_as_chinese_banks_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    section = ADDED.search((ROOT / "README.zh-CN.md").read_text(encoding="utf-8"))
    assert section
    names: dict[str, object] = {}
    exec(next(block[3] for block in FENCED.finditer(section[0]) if block[2] == "python"), names)

    capital = names["capital"]
    assert callable(capital)
    assert [capital(30_405), capital(1_000_010)] == ["叁万零肆佰零伍元整", "壹佰万零壹拾元整"]
    pairs = [line.split("\t") for line in Path("金额.tsv").read_text(encoding="utf-8").splitlines()]
    assert len(pairs) > 5_000 and all(amount == capital(int(number)) for number, amount in pairs)
