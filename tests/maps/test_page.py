"""The page as a file: one piece, no network, hostile text harmless."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from planted_log import planted_log, planted_maps

from seq2see.maps import Example, page

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--",
    "{{data}}",
    "&lt;",
    "\u2028",
    "\ud800",
    '"',
    "<img src=x onerror=alert(2)>",
)


def data_of(html: str) -> dict:
    return json.loads(re.findall(r'<script type="application/json" id="log">(.*?)</script>', html, re.DOTALL)[0])


def test_the_page_asks_for_nothing_and_its_policy_allows_exactly_the_style_and_the_script_inside():
    html = page.render(planted_log(steps=(0,)))
    assert html.startswith("<!DOCTYPE html>")
    assert not re.findall(r"""(?:src|href)=["'](?!#)""", html.split("<script")[0])
    assert "http://" not in html.replace("http://www.w3.org/2000/svg", "") and "https://" not in html
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html).group(1)
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy
    for tag in ("script", "style"):
        content = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[0]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_no_token_can_end_the_data_or_start_a_script():
    text = " ".join(HOSTILE)
    example = Example("</script>", text, text, (*HOSTILE, "<eos>"), (*HOSTILE, "<eos>"))
    html = page.render(planted_log(steps=(0, 1), examples=[example]), title="</title><script>alert(3)</script>")
    assert html.count("<script") == page.render(planted_log(steps=(0,))).count("<script") == 2
    assert "<script>alert" not in html and "<img" not in html
    assert data_of(html)["examples"][0]["sourceTokens"] == [*HOSTILE, "<eos>"]


def test_maps_travel_as_one_byte_a_cell_and_keep_their_values():
    log = planted_log(steps=(300,))
    raw = [zlib.decompress(base64.b64decode(piece)) for piece in data_of(page.render(log))["maps"][0]["weights"]]
    sources = [len(example.source_tokens) for example in log.examples]
    targets = [len(example.target_tokens) for example in log.examples]
    cells = [8 * (s * s + t * t + t * s) for s, t in zip(sources, targets, strict=True)]
    assert list(map(len, raw)) == cells
    first = 8 * (sources[0] ** 2 + targets[0] ** 2)
    cross = np.frombuffer(raw[0][first:], np.uint8).reshape(2, 4, targets[0], sources[0])
    weights = (cross / 255.0) ** 2
    expected = log.maps(300).cross[0, ..., : targets[0], : sources[0]]
    np.testing.assert_allclose(weights / weights.sum(-1, keepdims=True), expected, atol=0.008)


def test_diverged_numbers_become_null_and_no_weight():
    log = planted_log(None, steps=())
    maps = planted_maps(log, 0)
    log.append(0, maps._replace(cross=maps.cross * np.nan), scores={"val/loss": float("inf")})
    data = data_of(page.render(log))
    assert data["steps"][0]["scores"] == {"val/loss": None}
    assert "entropy" not in data["measures"]["cross"] and "entropy" in data["measures"]["encoder"]


def test_every_script_is_joined_and_none_is_too_long():
    folder = Path(page.__file__).parent
    assert sorted(page.SCRIPTS) == sorted(file.name for file in folder.glob("*.js"))
    for file in folder.glob("*.js"):
        assert len(file.read_text(encoding="utf-8").splitlines()) < 400, file.name
        assert "innerHTML" not in file.read_text(encoding="utf-8"), "text only ever becomes text"


def test_a_page_too_large_loses_norms_and_outputs_then_pairs_then_steps_and_says_so():
    log = planted_log(steps=range(0, 1200, 100), variants=True)
    html = page.render(log)
    fixed = len(html) - sum(len(piece) for step in data_of(html)["maps"] for own in step.values() for piece in own)
    weights = sum(len(piece) for step in data_of(html)["maps"] for piece in step["weights"])
    assert data_of(html)["leftOut"] == {"steps": 0, "pairs": 0, "variants": 0}
    seen = []
    for most, view in (
        (fixed + 2 * weights, {}),
        (fixed + weights // 2, {}),
        (fixed + weights // 2, {"pair": 4, "step": 300}),
        (fixed + weights * 2 // 5, {}),
        (fixed, {"step": 300}),
    ):
        html = page.render(log, max_megabytes=most / 1e6, view=view)
        data = data_of(html)
        steps, pairs = [step["step"] for step in data["steps"]], [example["id"] for example in data["examples"]]
        assert {0, 1100, view.get("step", 0)} <= set(steps) and view.get("pair", 1) - 1 in pairs
        whole = [len(maps) == 4 for maps in data["maps"]]
        assert data["leftOut"] == {
            "steps": 12 - len(steps),
            "pairs": len(log.examples) - len(pairs),
            "variants": whole.count(False),
        }
        assert {len(own) for maps in data["maps"] for own in maps.values()} == {len(pairs)}
        assert all(len(step["hypotheses"]) == len(pairs) for step in data["steps"])
        assert len(data["measures"]["cross"]["entropy"]) == len(steps)
        assert most == fixed or len(html.encode()) <= most
        seen.append((len(steps), len(pairs), sum(whole)))
    assert 2 <= seen[0][2] < 12 and seen[0][:2] == (12, 4)
    assert all(own[0] >= 8 and own[1:] == (2, 0) for own in seen[1:3])
    assert 8 <= seen[3][0] < 12 and seen[3][1] == 2
    assert seen[4] == (3, 1, 0)
    assert data_of(page.render(log, view={"kind": "cross", "step": 300}))["view"] == "kind=cross&step=300"
    with pytest.raises(ValueError, match="holds no step yet"):
        page.render(planted_log(steps=()))


def test_the_page_of_a_default_run_is_small():
    assert len(page.render(planted_log(steps=range(0, 2500, 200))).encode()) < 1e6
    assert len(page.render(planted_log(steps=range(0, 2500, 200), variants=True)).encode()) < 4e6
