"""Secrets in hard shapes are cut, tokens that tell what they are always, and both engines cut the same."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from tests.quality.hostile_secrets import hostile, vendor_tokens
from tests.quality.secret_samples import Sample, samples, surroundings

from claude_memory.redact import redact, redact_document
from claude_memory.redact.engine import RE2, STANDARD

MIN_SHARE = 0.92
SHORT = 6_000  # characters: the engine of the standard library is for short texts


def document_of(sample: Sample) -> Any:
    try:
        return json.loads(sample.snippet)
    except ValueError:
        return {"session_id": "s1", "tool_input": {"command": sample.snippet}}


def left_in_document(planted: list[Sample]) -> list[str]:
    return [
        sample.format
        for sample in planted
        if sample.secret in json.dumps(redact_document(document_of(sample)), ensure_ascii=False)
    ]


def test_every_token_that_tells_what_it_is_goes() -> None:
    planted = vendor_tokens()
    assert len(planted) >= 140
    assert [one.format for one in planted if one.secret in redact(one.snippet)] == []
    assert left_in_document(planted) == []


def test_nearly_every_secret_of_a_hostile_shape_goes() -> None:
    planted = hostile(values=4)
    assert len(planted) >= 900
    left = [one.format for one in planted if one.secret in redact(one.snippet)]
    assert len(left) <= (1 - MIN_SHARE) * len(planted), left
    left = left_in_document(planted)
    assert len(left) <= (1 - MIN_SHARE) * len(planted), left


def test_what_was_cut_stays_as_it_is() -> None:
    for sample in hostile():
        once = redact(sample.snippet)
        assert redact(once) == once, sample.format


def source_texts() -> list[str]:
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    random.Random(3).shuffle(files)
    return [
        file.read_text("utf-8", "replace")[start : start + SHORT]
        for file in files[:40]
        for start in (0, SHORT)
    ]


def test_both_engines_cut_the_same() -> None:
    planted = [*hostile(), *vendor_tokens(), *samples()]
    texts = [sample.snippet for sample in planted]
    for sample in planted[::7]:
        texts += surroundings(sample.snippet).values()
    texts += [f"{text}\v\n" for text in texts[::5]] + source_texts()
    for text in texts:
        assert redact(text[:SHORT], using=STANDARD) == redact(text[:SHORT], using=RE2), text[:200]


def test_a_short_text_is_cut_without_re2() -> None:
    program = (
        "import sys; from claude_memory.redact import kept; "
        "print(kept('docker login -u ci -p k7Yq2mZp9w'), 're2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "docker login -u ci -p [secret:login-password] False\n"


@pytest.mark.parametrize(
    "text",
    [
        "mkdir -p /srv/Data2024x/a1",
        "mkdir -p build2024X && cp -p a1B2c3D4 b",
        "docker run -p 8080:80 -P img2a",
        "ssh -p 2222 host && scp -P 2222 a1 b2",
        "tar -xzpf a1B2c3.tgz; zip -r out2024X.zip .",
        "git log -p HEAD~2 -- a1B2",
        "python -W error2 -u run2A.py",
        "mysql -u root -p shop2024",
        "docker login -u $USER -p $TOKEN1 registry",
        "nmap -p 1-65535 host1A",
        "| user | password |\n|---|---|\n| ann | required |",
        "name,password_hash_rounds\nann,12\n",
        "--- PASS: TestGradientCells256 (0.00s)",
        "--pass: #16a34a;",
        "password reset in step-2 of v1.2.3",
        "Passwort: mindestens 12 Zeichen",
        "密码：至少 8 位",
    ],
)
def test_what_only_stands_near_such_a_word_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("engine", [RE2, STANDARD], ids=["re2", "standard"])
@pytest.mark.parametrize(
    "piece",
    [
        "password: ",
        "| pw |",
        "-----BEGIN PRIVATE KEY-----\n",
        "mysql -p",
        "Password:\n",
        '"name": "password", ',
        "a,",
        "eyJ",
    ],
)
def test_a_text_made_to_be_slow_ends(piece: str, engine: Any) -> None:
    redact((piece * 6_000)[:5_000], using=engine)
