"""What ``doctor`` finds on machines and in snapshots of every kind."""

from __future__ import annotations

import json
import runpy
import subprocess
from pathlib import Path
from typing import Any

import pytest

DOCTOR = Path(__file__).parents[1] / "doctor.py"
REVISION = "7872f01b1d1fe23eabc4c98b48bffcef5a386062"

H200 = "NVIDIA H200, 143771, 580.65.06"
OLD_DRIVER = "NVIDIA H200, 143771, 570.1"
NODE = {
    "nvidia-smi": "\n".join([H200] * 8),
    "docker info --format {{json .Runtimes}}": '{"nvidia": {}, "runc": {}}',
    "docker info --format {{.DockerRootDir}}": "/",
    "docker version": "28.0.1",
    "docker compose": "2.35.1",
    "docker image": "[]",
}


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """A whole snapshot of the pinned revision, its weights one byte each."""
    folder = tmp_path / "snapshots" / REVISION
    (folder / "encoding").mkdir(parents=True)
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "encoding/encoding_dsv4.py"):
        (folder / name).write_text("{}", encoding="utf-8")
    shards = {"a": "model-00001.safetensors", "b": "model-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}), encoding="utf-8")
    for shard in shards.values():
        (folder / shard).write_bytes(b"x")
    return folder


def examine(monkeypatch: pytest.MonkeyPatch, answers: dict[str, str], **settings: str) -> dict[str, Any]:
    """The findings on a machine whose commands answer as given, by what was looked at."""

    def run(command: tuple[str, ...], **_: object) -> subprocess.CompletedProcess[str]:
        line = " ".join(command)
        for beginning, output in answers.items():
            if line.startswith(beginning):
                return subprocess.CompletedProcess(command, 0, output, "")
        raise FileNotFoundError(line)

    monkeypatch.setattr(subprocess, "run", run)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return {finding.name: finding for finding in runpy.run_path(str(DOCTOR))["examine"]()}


def test_a_gpu_node_with_everything_can_serve_the_checkpoint(monkeypatch: pytest.MonkeyPatch, snapshot: Path) -> None:
    findings = examine(monkeypatch, NODE, SNAPSHOT=str(snapshot))
    lacking = {name: finding.detail for name, finding in findings.items() if not finding.ok}
    assert lacking == {}


@pytest.mark.parametrize(
    ("changed", "settings", "name", "detail"),
    [
        ({"nvidia-smi": ""}, {}, "GPUs", "none: nvidia-smi is missing or finds none"),
        ({"nvidia-smi": "\n".join([H200] * 4)}, {}, "GPUs", "4 x NVIDIA H200; the settings also name [4, 5, 6, 7]"),
        ({}, {"REFERENCE_GPUS": "3,4"}, "GPUs", "WORKER_GPUS and REFERENCE_GPUS share [3]"),
        ({"nvidia-smi": "\n".join(["A100, 40960, 580.1"] * 8)}, {}, "GPU memory", "160 GiB an engine, needs 240"),
        (
            {"nvidia-smi": "\n".join([H200.replace("580", "570")] * 8)},
            {},
            "GPU driver",
            "570.65.06, needs 580 or newer",
        ),
        (
            {"docker info --format {{json .Runtimes}}": "{}"},
            {},
            "container toolkit",
            "install nvidia-container-toolkit",
        ),
        ({"docker compose": "2.19.9"}, {}, "Docker Compose", "2.19.9, 2.20 or newer is needed"),
    ],
)
def test_what_is_lacking_is_named(
    monkeypatch: pytest.MonkeyPatch,
    snapshot: Path,
    changed: dict[str, str],
    settings: dict[str, str],
    name: str,
    detail: str,
) -> None:
    finding = examine(monkeypatch, NODE | changed, SNAPSHOT=str(snapshot), **settings)[name]
    assert not finding.ok
    assert detail in finding.detail


def test_no_docker_at_all_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = examine(monkeypatch, {}, SNAPSHOT="/nowhere")
    assert "make up" in findings["Docker"].detail


@pytest.mark.parametrize(
    ("damage", "detail"),
    [
        (lambda folder: (folder / "model-00002.safetensors").unlink(), "lacks model-00002.safetensors"),
        (lambda folder: (folder / "model-00001.safetensors").write_bytes(b""), "lacks model-00001.safetensors"),
        (lambda folder: (folder / "encoding" / "encoding_dsv4.py").unlink(), "lacks encoding/encoding_dsv4.py"),
        (lambda folder: (folder / "model.safetensors.index.json").unlink(), "lacks model.safetensors.index.json"),
    ],
)
def test_a_snapshot_that_is_not_whole_is_refused(
    monkeypatch: pytest.MonkeyPatch, snapshot: Path, damage: Any, detail: str
) -> None:
    damage(snapshot)
    finding = examine(monkeypatch, NODE, SNAPSHOT=str(snapshot))["snapshot"]
    assert not finding.ok
    assert detail in finding.detail


def test_a_snapshot_of_another_revision_is_refused(monkeypatch: pytest.MonkeyPatch, snapshot: Path) -> None:
    other = snapshot.rename(snapshot.with_name("9e165c30"))
    finding = examine(monkeypatch, NODE, SNAPSHOT=str(other))["snapshot"]
    assert not finding.ok
    assert "holds revision 9e165c30" in finding.detail
